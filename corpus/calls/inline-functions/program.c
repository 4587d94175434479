/* Transactions with an old libpmemobj: what a comment says fails must be found, and nothing else. Run as: program FILE. */
#include "pmdk.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct root {
    long a, b, c, d;
    PMEMoid object;
};

static int construct(void *pool, void *object, void *with) {
    *(long *)object = *(long *)with;
    pmemobj_persist(pool, object, sizeof(long));
    return 0;
}

static void in_transaction(void *pool, struct root *root, PMEMoid id, long value) {
    jmp_buf target;
    pmemobj_tx_begin(pool, target, 0);
    pmemobj_tx_add_range(id, offsetof(struct root, a), sizeof root->a);
    root->a = value;
    PMEMoid new = pmemobj_tx_alloc(64, 1);
    *(long *)direct(new) = value;
    pmemobj_alloc(pool, &root->object, 64, 1, construct, &value);
    root->b = value; /* FAIL missing-backup */
    while (pmemobj_tx_stage() != STAGE_NONE)
        pmemobj_tx_process();
    pmemobj_tx_end();
    root->c = value; /* in no transaction any more */
    pmemobj_persist(pool, &root->c, sizeof root->c);
}

int main(int count, char **words) {
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        return 1;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return 1;
    void *pool = pmemobj_open_memory(memory);
    PMEMoid id = {1, 64};
    for (long i = 1; i < 4; i++)
        in_transaction(pool, direct(id), id, i);
    return 0;
}

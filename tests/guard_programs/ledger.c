/* A ledger on a pool of libpmemobj, for tests of healing: one line that writes many entries, and an object that is shown.
 *
 *   ledger POOL write FIRST COUNT VALUE   writes entries, each made durable by itself
 *   ledger POOL show VALUE COUNT          makes a note in a transaction, and shows it in some places, one by one
 *   ledger POOL check                     fails, and always says the same, if an entry or a note is bad
 *   ledger POOL shown                     prints in how many places a note is shown
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES 64
#define PLACES  2
#define BAD     1000 /* and above */

struct entry {
    uint64_t value;
    char pad[56];
};
struct root {
    PMEMoid shown[PLACES];
    char pad[32];
    struct entry entries[ENTRIES];
};

static PMEMobjpool *pool;
static struct root *root;

static void write_entry(unsigned number, uint64_t value) {
    root->entries[number].value = value;
    pmemobj_persist(pool, &root->entries[number], sizeof root->entries[number]); /* SITE: entry */
}

static void show(uint64_t value, unsigned places) {
    PMEMoid note = OID_NULL;
    TX_BEGIN(pool) {
        note = pmemobj_tx_zalloc(sizeof(uint64_t), 1);
        *(uint64_t *)pmemobj_direct(note) = value;
    }
    TX_END
    for (unsigned i = 0; i < places; i++) {
        root->shown[i] = note;
        pmemobj_persist(pool, &root->shown[i], sizeof root->shown[i]);
    }
}

static void check(void) {
    for (unsigned i = 0; i < ENTRIES; i++)
        if (root->entries[i].value >= BAD)
            exit(5);
    for (unsigned i = 0; i < PLACES; i++)
        if (!OID_IS_NULL(root->shown[i]) && *(volatile uint64_t *)pmemobj_direct(root->shown[i]) >= BAD)
            exit(6);
}

int main(int argc, char **argv) {
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], "ledger")
                                      : pmemobj_create(argv[1], "ledger", 16 << 20, 0600);
    if (!pool || argc < 3)
        return 9;
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (strcmp(argv[2], "write") == 0) {
        for (unsigned i = 0; i < (unsigned)atoi(argv[4]); i++)
            write_entry((unsigned)atoi(argv[3]) + i, strtoull(argv[5], NULL, 10));
    } else if (strcmp(argv[2], "show") == 0) {
        show(strtoull(argv[3], NULL, 10), (unsigned)atoi(argv[4]));
    } else if (strcmp(argv[2], "check") == 0) {
        check();
    } else {
        printf("%d\n", !OID_IS_NULL(root->shown[0]) + !OID_IS_NULL(root->shown[1]));
    }
    pmemobj_close(pool);
    return 0;
}

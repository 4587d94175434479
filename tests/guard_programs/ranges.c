/* Random ranges, for tests of the guard: ranges POOL SEED
 *
 * Transactions that are given ranges of any place and length, often overlapping, and change some of their bytes;
 * one of four is aborted, one of two frees what it allocated. Between them data of any length are copied, long ones in several records. What all
 * that leaves is printed: the offset of the root in the pool, and its length. */
#include <libpmemobj.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL = 8 << 10, LARGE = 3 << 20, TRANSACTIONS = 300, RANGES = 40, LONGEST = 700 };

struct root {
    unsigned char small[SMALL];
    unsigned char large[LARGE];
};

static unsigned char noise[LARGE];

static size_t up_to(size_t most) {
    return (size_t)rand() % (most + 1);
}

static void change(struct root *root) {
    size_t at = up_to(SMALL - 1), size = 1 + up_to(SMALL - 1 - at < LONGEST ? SMALL - 1 - at : LONGEST);
    pmemobj_tx_add_range_direct(root->small + at, size);
    for (size_t changes = up_to(4); changes > 0; changes--) {
        size_t from = up_to(size - 1), bytes = up_to(size - from < 40 ? size - from : 40);
        memset(root->small + at + from, rand(), bytes);
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 9;
    PMEMobjpool *pool = pmemobj_create(argv[1], "ranges", 24 << 20, 0600);
    if (!pool)
        return 9;
    srand((unsigned)atoi(argv[2]));
    PMEMoid id = pmemobj_root(pool, sizeof(struct root));
    struct root *root = pmemobj_direct(id);
    for (size_t i = 0; i < sizeof noise; i++)
        noise[i] = (unsigned char)rand();
    for (int i = 0; i < TRANSACTIONS; i++) {
        TX_BEGIN(pool) {
            for (size_t ranges = up_to(RANGES); ranges > 0; ranges--)
                change(root);
            PMEMoid object = pmemobj_tx_zalloc(1 + up_to(LONGEST), 1);
            memset(pmemobj_direct(object), rand(), 1);
            if (rand() % 2 == 0)
                pmemobj_tx_free(object);
            if (rand() % 4 == 0)
                pmemobj_tx_abort(1);
        }
        TX_END
        size_t most = i % 50 == 0 ? LARGE : i % 5 == 0 ? 40000 : 300, size = up_to(most);
        pmemobj_memcpy_persist(pool, root->large + up_to(LARGE - size), noise + up_to(LARGE - size), size);
    }
    printf("%llu %zu\n", (unsigned long long)id.off, sizeof *root);
    pmemobj_close(pool);
    return 0;
}

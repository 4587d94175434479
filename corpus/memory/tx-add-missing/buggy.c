/* PMDK's btree_map, as found by PMTest: a transaction that changes a node without TX_ADD.
 *
 * A power cut before the commit rolls back the total and not the node; one after the commit can take the
 * node's new content, which the library does not know of and does not flush. */
#include "pool.h"

static void create(void) {
    PMEMobjpool *pool = pmemobj_create("pool", POBJ_LAYOUT_NAME(numbers), PMEMOBJ_MIN_POOL, 0644);
    need(pool != NULL, "pmemobj_create");
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    POBJ_ZNEW(pool, &D_RW(root)->node, struct node);
    pmemobj_close(pool);
}

static void insert(PMEMobjpool *pool, uint64_t number) {
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    TX_BEGIN(pool) {
        struct node *node = D_RW(D_RW(root)->node);
        node->number[node->count] = number; // LOST
        node->count++;                      // SURVIVED LOST
        TX_ADD_FIELD(root, total);          // LOST
        D_RW(root)->total += number;        // LOST SURVIVED
    }
    TX_ONABORT { // SURVIVED LOST
        abort();
    }
    TX_END; // SURVIVED LOST
    say("inserted %lu", number);
}

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    if (argc == 3) {
        create();
        return 0;
    }
    PMEMobjpool *pool = pmemobj_open("pool", POBJ_LAYOUT_NAME(numbers));
    need(pool != NULL, "pmemobj_open");
    insert(pool, 101);
    insert(pool, 102);
    pmemobj_close(pool);
    return 0;
}

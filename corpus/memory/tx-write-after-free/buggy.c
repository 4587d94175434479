/* A transaction that frees a node and then wipes it. TX_FREE takes effect at the commit, and nothing logged
 * the node.
 *
 * A power cut before the commit brings the node back into the list, wiped. */
#include "pool.h"

static void push(PMEMobjpool *pool, TOID(struct root) root, uint64_t value) {
    TX_BEGIN(pool) {
        TOID(struct node) node = TX_NEW(struct node);
        D_RW(node)->value = value;
        D_RW(node)->next = D_RO(root)->head;
        TX_ADD_FIELD(root, head);
        D_RW(root)->head = node;
    }
    TX_ONABORT {
        abort();
    }
    TX_END;
}

static void pop(PMEMobjpool *pool, TOID(struct root) root) {
    TOID(struct node) node = D_RO(root)->head;
    uint64_t value = D_RO(node)->value;
    TX_BEGIN(pool) {
        TX_ADD_FIELD(root, head);
        D_RW(root)->head = D_RO(node)->next;
        TX_FREE(node);
        D_RW(node)->value = 0; // SURVIVED
    }
    TX_ONABORT { // LOST
        abort();
    }
    TX_END; // LOST
    say("popped %lu", value);
}

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    int fresh = argc == 3;
    PMEMobjpool *pool = fresh ? pmemobj_create("pool", POBJ_LAYOUT_NAME(stack), PMEMOBJ_MIN_POOL, 0644)
                              : pmemobj_open("pool", POBJ_LAYOUT_NAME(stack));
    need(pool != NULL, "open the pool");
    TOID(struct root) root = POBJ_ROOT(pool, struct root);
    for (uint64_t value = 1; fresh && value <= 3; value++)
        push(pool, root, value);
    if (!fresh) {
        pop(pool, root);
        pop(pool, root);
    }
    pmemobj_close(pool);
    return 0;
}

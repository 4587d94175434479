/* libpmemobj's transactions and libpmem's copies, as `powercut cc` sees them: what each call means is asked right behind
 * it. What a comment says fails must be found, and nothing else. Run as: transactions POOL. */
#include <libpmem.h>
#include <libpmemobj.h>
#include <powercut.h>

struct root {
    long a, b, c;
    PMEMoid object;
    char apart[100];
    long d;
};

static void commits(PMEMobjpool *pool, struct root *root) {
    pc_tx_checker_start();
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->a, sizeof root->a);
        root->a = 1;
        TX_BEGIN(pool) {
            pmemobj_tx_add_range_direct(&root->b, sizeof root->b);
            root->b = 1;
        } TX_END
        root->b = 2;
        root->object = pmemobj_tx_alloc(100, 1); /* FAIL missing-backup */
        *(long *)pmemobj_direct(root->object) = 7;
    } TX_ONCOMMIT {
        root->d = 8;
        pmemobj_persist(pool, &root->d, sizeof root->d);
    } TX_END
    pc_tx_checker_end();
    TX_BEGIN(pool) {
        pmemobj_tx_xadd_range_direct(&root->c, sizeof root->c, POBJ_XADD_NO_FLUSH);
        root->c = 1;
    } TX_END
    pc_is_persistent(&root->c, sizeof root->c); /* FAIL not-persistent */
    pmemobj_persist(pool, &root->c, sizeof root->c);
}

static void aborts(PMEMobjpool *pool, struct root *root) {
    pc_tx_checker_start();
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, sizeof *root);
        root->a = 5;
        TX_BEGIN(pool) {
            root->b = 7;
            pmemobj_tx_abort(5);
        } TX_END
    } TX_ONABORT {
        root->d = 3;
        pmemobj_persist(pool, &root->d, sizeof root->d);
    } TX_FINALLY {
        root->c = 3;
        pmemobj_persist(pool, &root->c, sizeof root->c);
    } TX_END
    pc_tx_checker_end();
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, sizeof root->a);
        root->a = 1;
        pmemobj_tx_alloc(1ul << 40, 1); /* there is no such room: it jumps out of here */
    } TX_END
    pc_is_persistent(root, sizeof *root);
    root->d = 4; /* no transaction is open any more */
    pmemobj_persist(pool, &root->d, sizeof root->d);
}

static void copies(PMEMobjpool *pool, char *at) {
    pmemobj_memcpy_persist(pool, at, "hello", 6);
    pc_is_persistent(at, 6);
    pmemobj_memset(pool, at, 1, 64, PMEMOBJ_F_MEM_NODRAIN);
    pc_is_persistent(at, 64); /* FAIL not-persistent */
    pmemobj_drain(pool);
    pc_is_persistent(at, 64);
    pmem_memcpy(at, "x", 2, PMEM_F_MEM_NOFLUSH);
    pc_is_persistent(at, 2); /* FAIL not-persistent */
    pmem_flush(at, 2);
    pc_is_persistent(at, 2); /* FAIL not-persistent */
    pmem_drain();
    pc_is_persistent(at, 2);
}

/* What an atomic allocation in a transaction constructs is new, and needs no backup. */
static int construct(PMEMobjpool *pool, void *object, void *with) {
    *(long *)object = *(long *)with;
    pmemobj_persist(pool, object, sizeof(long));
    return 0;
}

static void constructs(PMEMobjpool *pool, struct root *root) {
    long value = 9;
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(&root->a, sizeof root->a);
        pmemobj_alloc(pool, &root->object, 64, 1, construct, &value);
        pmemobj_xalloc(pool, &root->object, 64, 1, POBJ_XALLOC_ZERO, construct, &value);
        root->a = 2;
    } TX_END
    pmemobj_alloc(pool, &root->object, 64, 1, construct, &value);
}

int main(int count, char **words) {
    PMEMobjpool *pool = count > 1 ? pmemobj_create(words[1], "", PMEMOBJ_MIN_POOL, 0600) : NULL;
    PMEMoid object;
    if (!pool || pmemobj_alloc(pool, &object, 64, 1, NULL, NULL) != 0)
        return 2;
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    commits(pool, root);
    aborts(pool, root);
    constructs(pool, root);
    copies(pool, pmemobj_direct(object));
    pmemobj_free(&object);
    pmemobj_close(pool);
    return 0;
}

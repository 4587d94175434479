/* A service that reaches its objects in several ways, for tests of leaks.
 *
 *   finder POOL fill          makes what is missing, and loses one object
 *   finder POOL recover       touches all it knows
 *   finder POOL mark          the same between the marks of a recovery; afterwards it looks at each object there is
 *   finder POOL snapshot      touches nothing itself; PMDK copies each object into its undo log
 *
 * It knows some objects by a path (an object id, in the root), some by their type number, some by numbers from which it
 * computes their offsets, and one by a path from an object that it finds by type. One is touched by a store alone, one
 * by a system call. */
#include <libpmemobj.h>
#include <powercut.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BY_PATH = 1, BY_TYPE, BY_NUMBER, BEHIND, STORED_ONLY, WRITTEN_OUT, LOST };
enum { COUNT = 5, KEY = 0x5a5a };

struct item {
    uint64_t value;
    PMEMoid next;
    char text[80];
};
struct root {
    PMEMoid by_path;
    uint32_t numbers[COUNT]; /* of an object: its offset in units of 16, mixed with a key */
};

static PMEMobjpool *pool;
static struct root *root;
static volatile uint64_t sum;

static struct item *item_at(PMEMoid id) {
    return pmemobj_direct(id);
}

static PMEMoid make(unsigned type) {
    PMEMoid made;
    if (pmemobj_zalloc(pool, &made, sizeof(struct item), type) != 0)
        _exit(8);
    return made;
}

static void fill(void) {
    pmemobj_zalloc(pool, &root->by_path, sizeof(struct item), BY_PATH);
    for (unsigned i = 0; i < COUNT; i++) {
        root->numbers[i] = (uint32_t)(make(BY_NUMBER).off / 16) ^ KEY;
        struct item *found = item_at(make(BY_TYPE));
        if (i == 0)
            pmemobj_zalloc(pool, &found->next, sizeof(struct item), BEHIND);
    }
    pmemobj_persist(pool, root, sizeof *root);
    make(STORED_ONLY);
    make(WRITTEN_OUT);
    PMEMoid lost;
    pmemobj_zalloc(pool, &lost, sizeof(struct item), LOST); /* SITE: lost */
}

static struct item *computed(unsigned i) {
    return (struct item *)((char *)pool + (uint64_t)(root->numbers[i] ^ KEY) * 16);
}

static void recover(void) {
    PMEMoid id;
    for (unsigned i = 0; i < COUNT; i++)
        sum += computed(i)->value;
    POBJ_FOREACH(pool, id) {
        unsigned type = (unsigned)pmemobj_type_num(id);
        if (type == BY_TYPE)
            sum += item_at(id)->value;
        else if (type == STORED_ONLY)
            item_at(id)->value = 0;
        else if (type == WRITTEN_OUT && write(1, item_at(id)->text, 1) != 1)
            _exit(7);
    }
}

static void look_at_all(void) {
    PMEMoid id;
    POBJ_FOREACH(pool, id)
        sum += item_at(id)->value;
}

static void snapshot(void) {
    PMEMoid id;
    TX_BEGIN(pool) {
        POBJ_FOREACH(pool, id)
            pmemobj_tx_add_range(id, 0, sizeof(struct item));
    }
    TX_END
}

int main(int argc, char **argv) {
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], "finder")
                                      : pmemobj_create(argv[1], "finder", PMEMOBJ_MIN_POOL, 0600);
    if (!pool || argc < 3) {
        fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg());
        return 9;
    }
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (strcmp(argv[2], "fill") == 0) {
        fill();
    } else if (strcmp(argv[2], "recover") == 0) {
        recover();
    } else if (strcmp(argv[2], "mark") == 0) {
        pc_recover_begin();
        recover();
        pc_recover_end();
        look_at_all();
    } else if (strcmp(argv[2], "snapshot") == 0) {
        snapshot();
    }
    pmemobj_close(pool);
    return 0;
}

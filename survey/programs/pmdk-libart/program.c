/* Delete a key from an adaptive radix tree and say so. Arguments: POOL, and "start" (make the tree) or "check".
 *
 * The keys a1 and a2 have an inner node of their own, which moves up once b1 is gone. */
#include "art.c"

enum { LENGTH = 3 }; /* of a key, with its end */

static const char *const keys[] = {"a1", "a2", "b1"};

static PMEMobjpool *usable(PMEMobjpool *pool, int fresh) {
    if (!pool || art_tree_init(pool, &fresh)) {
        puts(pmemobj_errormsg());
        exit(1);
    }
    return pool;
}

static void start(const char *path) {
    PMEMobjpool *pool = usable(pmemobj_create(path, POBJ_LAYOUT_NAME(arttree_tx), PMEMOBJ_MIN_POOL, 0644), 1);
    for (int i = 0; i < 3; i++)
        art_insert(pool, (const unsigned char *)keys[i], LENGTH, (void *)keys[i], LENGTH);
    pmemobj_close(pool);
}

static void delete(const char *path) {
    PMEMobjpool *pool = usable(pmemobj_open(path, POBJ_LAYOUT_NAME(arttree_tx)), 0);
    art_delete(pool, (const unsigned char *)"b1", LENGTH);
    puts("deleted");
    fflush(stdout);
    pmemobj_close(pool);
}

/* a1 and a2 must be there, and b1 must be gone once that was said. */
static int check(const char *path) {
    PMEMobjpool *pool = usable(pmemobj_open(path, POBJ_LAYOUT_NAME(arttree_tx)), 0);
    FILE *acked = fopen(getenv("POWERCUT_ACKED"), "r");
    int deleted = acked && getc(acked) != EOF;
    for (int i = 0; i < 3; i++) {
        TOID(var_string) value = art_search(pool, (const unsigned char *)keys[i], LENGTH);
        int there = !TOID_IS_NULL(value) && strcmp((const char *)D_RO(value)->s, keys[i]) == 0;
        if (there ? deleted && i == 2 : i < 2) {
            printf("%s is %s\n", keys[i], there ? "there again" : "lost");
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2)
        delete (argv[1]);
    else if (strcmp(argv[2], "start") == 0)
        start(argv[1]);
    else
        return check(argv[1]);
    return 0;
}

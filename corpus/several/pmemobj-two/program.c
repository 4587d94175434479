/* Each flag is persisted, the data it stands for is not. */
#include "pool.h"

int main(int argc, char **argv) {
    need((argc == 2 || argc == 3) && chdir(argv[1]) == 0, "usage: FOLDER [create]");
    PMEMobjpool *pool = argc == 3 ? pmemobj_create("pool", "two", PMEMOBJ_MIN_POOL, 0644) : pmemobj_open("pool", "two");
    need(pool != NULL, "pool");
    struct root *root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    if (argc == 3)
        return 0;

    root->a_data = 1; // LOST a
    if (mended('a'))
        pmemobj_persist(pool, &root->a_data, 8);
    root->a_flag = 1;                        // SURVIVED a
    pmemobj_persist(pool, &root->a_flag, 8); // SURVIVED a
    say("A");

    root->b_data = 1; // LOST b
    if (mended('b'))
        pmemobj_persist(pool, &root->b_data, 8);
    root->b_flag = 1;                        // SURVIVED b
    pmemobj_persist(pool, &root->b_flag, 8); // SURVIVED b
    say("B");
    return 0;
}

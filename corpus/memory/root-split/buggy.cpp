/* FAST_FAIR, split of the root: half of the keys go to a new page and are cut off from the old one; only then
 * a new root is made that leads to both.
 *
 * After a power cut in between the old page is still the root, and the keys of the new page are gone. */
#include "pool.h"

static void split(Pool &pool) {
    Page &left = pool.page[0], &right = pool.page[1], &root = pool.page[2];
    for (int i = 0; i < 2; i++)
        right.key[i] = left.key[i + 2];
    right.count = 2;
    persist(&right, sizeof right);
    left.count = 2; // SURVIVED
    persist(&left, sizeof left);

    root.count = 1;
    root.key[0] = right.key[0];
    root.left = 0;
    root.right = 1;
    persist(&root, sizeof root);
    pool.root = 2; // LOST
    persist(&pool.root, sizeof pool.root);
}

static void append(Pool &pool, uint64_t key) {
    if (pool.of(key).count == 4)
        split(pool);
    Page &leaf = pool.of(key);
    leaf.key[leaf.count] = key;
    persist(&leaf.key[leaf.count], sizeof key);
    leaf.count++;
    persist(&leaf.count, sizeof leaf.count);
    say("appended %lu", key);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    Pool &pool = *static_cast<Pool *>(pool_open(argv[1], "pool", sizeof(Pool)));
    for (uint64_t key = 11; key <= 15; key++)
        append(pool, key);
}

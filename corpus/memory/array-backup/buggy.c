/* PMTest, figure 1a: an undo log of one item with two of the four barriers that it needs.
 *
 * Nothing orders the backup before its flag, nor the new item before the flag is taken back. The power cut
 * can leave a valid flag with a torn or old backup, which the recovery puts into the array; or a torn
 * item, and no valid backup. */
#include "pool.h"

static void update(struct pool *pool, uint64_t index, uint64_t version) {
    struct item *item = &pool->array[index];
    pool->backup.value = item->value; // LOST
    pool->backup.again = item->again; // LOST
    pool->valid = index + 1;          // SURVIVED
    persist(&pool->backup, sizeof pool->backup + sizeof pool->valid);
    item->value = value_of(index, version); // LOST
    item->again = value_of(index, version); // LOST
    pool->valid = 0;                        // SURVIVED
    flush(item, sizeof *item);
    persist(&pool->valid, sizeof pool->valid);
    say("updated %lu %lu", index, version);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    update(pool, 0, 1);
    update(pool, 1, 1);
    update(pool, 0, 2);
    return 0;
}

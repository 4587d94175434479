/* Level hashing, insert: key, value and token are stored in this order, but one persist at the end covers all
 * three.
 *
 * A cache line may leave the cache at any time, so the power cut can keep the token and take key and value:
 * the table then holds an item that nobody inserted. */
#include "pool.h"

static void insert(struct bucket *bucket, uint64_t key) {
    int i = 0;
    while (bucket->token[i])
        i++;
    bucket->slot[i].key = key;             // LOST
    bucket->slot[i].value = value_of(key); // LOST
    bucket->token[i] = 1;                  // SURVIVED
    persist(bucket, sizeof *bucket);
    say("inserted %lu", key);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct bucket *bucket = pool_open(argv[1], "pool", sizeof *bucket);
    insert(bucket, 11);
    insert(bucket, 12);
    return 0;
}

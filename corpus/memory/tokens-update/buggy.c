/* Level hashing, update without a log: the new value goes into a free slot, then the tokens of both slots
 * change, one store each.
 *
 * A power cut between the two stores leaves a key with two values, and no way to tell which one is right. */
#include "pool.h"

static int find(const struct bucket *bucket, int token, uint64_t key) {
    int i = 0;
    while (bucket->token[i] != token || (token && bucket->slot[i].key != key))
        i++;
    return i;
}

static void put(struct bucket *bucket, int i, uint64_t key, uint64_t value) {
    bucket->slot[i].key = key;
    bucket->slot[i].value = value;
    persist(&bucket->slot[i], sizeof bucket->slot[i]);
}

static void insert(struct bucket *bucket, uint64_t key, uint64_t value) {
    int i = find(bucket, 0, 0);
    put(bucket, i, key, value);
    bucket->token[i] = 1;
    persist(&bucket->tokens, sizeof bucket->tokens);
    say("set %lu %lu", key, value);
}

static void update(struct bucket *bucket, uint64_t key, uint64_t value) {
    int old = find(bucket, 1, key), new = find(bucket, 0, 0);
    put(bucket, new, key, value);
    bucket->token[new] = 1; // SURVIVED
    bucket->token[old] = 0; // LOST
    persist(&bucket->tokens, sizeof bucket->tokens);
    say("set %lu %lu", key, value);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct bucket *bucket = pool_open(argv[1], "pool", sizeof *bucket);
    insert(bucket, 5, 1);
    update(bucket, 5, 2);
    update(bucket, 5, 3);
    return 0;
}

/* The fixed twin of buggy.c: all tokens lie in one word, so one store changes both. */
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
    uint64_t change = (1ul << 8 * new) | (1ul << 8 * old);
    bucket->tokens ^= change;
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

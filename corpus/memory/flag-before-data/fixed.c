/* The fixed twin of buggy.c: key and value are durable before the token is set. */
#include "pool.h"

static void insert(struct bucket *bucket, uint64_t key) {
    int i = 0;
    while (bucket->token[i])
        i++;
    bucket->slot[i].key = key;
    bucket->slot[i].value = value_of(key);
    persist(&bucket->slot[i], sizeof bucket->slot[i]);
    bucket->token[i] = 1;
    persist(&bucket->token[i], 1);
    say("inserted %lu", key);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct bucket *bucket = pool_open(argv[1], "pool", sizeof *bucket);
    insert(bucket, 11);
    insert(bucket, 12);
    return 0;
}

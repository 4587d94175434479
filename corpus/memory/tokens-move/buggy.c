/* Level hashing, movement: an item moves from the bottom to the top level. The new token is set before the
 * old one is cleared, but both stay in the cache until the end.
 *
 * The tokens lie in different cache lines. The power cut can keep the cleared one and take the set one: the
 * item is nowhere. (The other way round it is in both places; the recovery knows that and drops the old
 * copy.) */
#include "pool.h"

static void insert(struct bucket *bucket, uint64_t key) {
    bucket->key = key;
    bucket->value = value_of(key);
    persist(&bucket->key, 2 * sizeof bucket->key);
    bucket->token = 1;
    persist(&bucket->token, sizeof bucket->token);
    say("inserted %lu", key);
}

static void move(struct bucket *from, struct bucket *to) {
    to->key = from->key;
    to->value = from->value;
    persist(&to->key, 2 * sizeof to->key);
    to->token = 1;   // LOST
    from->token = 0; // SURVIVED
    persist(&to->token, sizeof to->token);
    persist(&from->token, sizeof from->token);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    insert(&pool->bottom, 21);
    move(&pool->bottom, &pool->top);
    return 0;
}

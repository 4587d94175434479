/* FAST_FAIR: insert through a sibling pointer that is not durable.
 *
 * A split links the new leaf and then flushes the link; in between another thread follows it and inserts
 * there. After a power cut the chain ends before the new leaf, and the inserted key is gone. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t locks[LEAVES];
static uint64_t used = 1; /* leaves; what the chain does not reach is free */

/* The smallest key of the upper half of a full leaf. */
static uint64_t middle_of(const struct leaf *leaf) {
    for (int i = 0; i < ROOM; i++) {
        int below = 0;
        for (int j = 0; j < ROOM; j++)
            below += leaf->key[j] < leaf->key[i];
        if (below == ROOM / 2)
            return leaf->key[i];
    }
    abort();
}

/* Link a new leaf with the upper half of a full one, which is locked, behind it. */
static void link_upper_half(struct leaf *left, uint64_t middle) {
    uint64_t number = __atomic_fetch_add(&used, 1, __ATOMIC_RELAXED), count = 0;
    need(number < LEAVES, "too many leaves");
    struct leaf *right = &pool->leaf[number];
    for (int i = 0; i < ROOM; i++)
        if (left->key[i] >= middle)
            right->key[count++] = left->key[i];
    right->count = count;
    right->end = left->end;
    right->sibling = left->sibling;
    persist(right, sizeof *right);
    __atomic_store_n(&left->sibling, number + 1, __ATOMIC_RELEASE); // WRITE EFFECT
    __atomic_store_n(&left->end, middle, __ATOMIC_RELEASE);         // WRITE EFFECT
    persist(left, sizeof *left);
}

/* Both halves are durable. All keys of a leaf are in one line, where stores persist in their order. */
static void drop_upper_half(struct leaf *leaf, uint64_t middle) {
    uint64_t count = 0;
    for (int i = 0; i < ROOM; i++)
        if (leaf->key[i] < middle)
            leaf->key[count++] = leaf->key[i]; // EFFECT
    leaf->count = count;                       // EFFECT
    persist(&leaf->count, LINE);
}

static void split(struct leaf *leaf) {
    uint64_t middle = middle_of(leaf);
    link_upper_half(leaf, middle);
    drop_upper_half(leaf, middle);
}

/* The leaf after this one if a key belongs behind this one, else 0. The end is read first: then the sibling
 * is the one that came with it, or a nearer one. */
static uint64_t next(struct leaf *leaf, uint64_t key) {
    uint64_t end = __atomic_load_n(&leaf->end, __ATOMIC_ACQUIRE);         // READ
    uint64_t sibling = __atomic_load_n(&leaf->sibling, __ATOMIC_ACQUIRE); // READ
    return end && key >= end ? sibling : 0;
}

/* Whether the key could be put into the leaf: it may belong behind it by now, or the leaf was full. */
static int try_insert(uint64_t number, uint64_t key) {
    struct leaf *leaf = &pool->leaf[number];
    pthread_mutex_lock(&locks[number]);
    int here = !next(leaf, key), can = here && leaf->count < ROOM;
    if (can) {
        uint64_t count = leaf->count;
        leaf->key[count] = key;  // EFFECT
        leaf->count = count + 1; // EFFECT
        persist(&leaf->count, LINE);
    } else if (here) {
        split(leaf);
    }
    pthread_mutex_unlock(&locks[number]);
    return can;
}

static void insert(uint64_t key) {
    uint64_t number = 0, sibling;
    do
        while ((sibling = next(&pool->leaf[number], key)))
            number = sibling - 1;
    while (!try_insert(number, key));
}

static void *run(void *number) {
    for (uint64_t i = 0; i < KEYS / WRITERS; i++)
        insert(1 + (i * WRITERS + (uint64_t)number) * 37 % KEYS);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    for (int i = 0; i < LEAVES; i++)
        pthread_mutex_init(&locks[i], NULL);
    together(WRITERS, run);
    return 0;
}

/* A hint is stored that is made of a count that may not be durable.
 *
 * Whether that is a mistake is up to those who use it later: check-fixed.c repairs a hint that is not true
 * when it comes by, as FAST_FAIR does with its nodes; check-buggy.c believes it. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t lock_of_list = PTHREAD_MUTEX_INITIALIZER;

static void append(uint64_t number) {
    pthread_mutex_lock(&lock_of_list);
    uint64_t count = pool->count;
    pool->number[count] = number;
    persist(&pool->number[count], sizeof number);
    __atomic_store_n(&pool->count, count + 1, __ATOMIC_RELEASE); // WRITE
    persist(&pool->count, sizeof pool->count);
    pthread_mutex_unlock(&lock_of_list);
}

static void store_hint(void) {
    uint64_t count = __atomic_load_n(&pool->count, __ATOMIC_ACQUIRE); // READ
    pool->hint = count;                                               // EFFECT
    persist(&pool->hint, sizeof pool->hint);
}

static void *run(void *thread) {
    for (uint64_t round = 1; round <= ROUNDS; round++)
        if (thread)
            store_hint();
        else
            append(100 + round);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(1 + SEEKERS, run);
    return 0;
}

/* An index is made of items that may not be durable.
 *
 * Whether that is a mistake is up to the recovery: check-fixed.c builds the index anew, check-buggy.c
 * believes it. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t lock_of[ITEMS];

static void set(int number, uint64_t value) {
    pthread_mutex_lock(&lock_of[number]);
    pool->item[number].value = value; // WRITE
    pthread_mutex_unlock(&lock_of[number]);
    persist(&pool->item[number], sizeof pool->item[number]);
}

static void add_to_index(int number) {
    pthread_mutex_lock(&lock_of[number]);
    uint64_t value = pool->item[number].value; // READ
    pthread_mutex_unlock(&lock_of[number]);
    pool->index[number].value = value; // EFFECT
    persist(&pool->index[number], sizeof pool->index[number]);
}

static void *run(void *thread) {
    int number = (int)(intptr_t)thread;
    for (uint64_t round = 1; round <= ROUNDS; round++)
        for (int i = number % 2; i < ITEMS; i += 2)
            if (number < SETTERS)
                set(i, round);
            else
                add_to_index(i);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    for (int i = 0; i < ITEMS; i++)
        pthread_mutex_init(&lock_of[i], NULL);
    together(SETTERS + INDEXERS, run);
    return 0;
}

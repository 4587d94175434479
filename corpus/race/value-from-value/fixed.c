/* The fixed twin of buggy.c: a value is durable before its lock is free. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t locks[ITEMS];

static void set(int number, uint64_t value) {
    pthread_mutex_lock(&locks[number]);
    pool->item[number].value = value;
    persist(&pool->item[number], sizeof pool->item[number]);
    pthread_mutex_unlock(&locks[number]);
}

static uint64_t get(int number) {
    pthread_mutex_lock(&locks[number]);
    uint64_t value = pool->item[number].value;
    pthread_mutex_unlock(&locks[number]);
    return value;
}

static void *run(void *client) {
    int number = (int)(intptr_t)client;
    for (uint64_t round = 1; round <= ROUNDS; round++)
        set(number, number ? get(0) : round);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    for (int i = 0; i < ITEMS; i++)
        pthread_mutex_init(&locks[i], NULL);
    together(CLIENTS, run);
    return 0;
}

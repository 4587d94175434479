/* The fixed twin of buggy.c: the capacity is durable before segments are taken for it; what is not yet
 * counted after a power cut, the recovery (check.c) counts. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

static void take(const struct directory *directory) {
    pthread_mutex_lock(&taking);
    pool->taken += __atomic_load_n(&directory->capacity, __ATOMIC_RELAXED);
    persist(&pool->taken, sizeof pool->taken);
    pthread_mutex_unlock(&taking);
}

static void make(struct directory *directory, uint64_t capacity) {
    directory->capacity = capacity;
    persist(directory, sizeof *directory);
    take(directory);
}

static void *run(void *number) {
    for (intptr_t i = (intptr_t)number; i < DIRECTORIES; i += MAKERS)
        make(&pool->directory[i], (uint64_t)1 << (1 + i % 4));
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(MAKERS, run);
    return 0;
}

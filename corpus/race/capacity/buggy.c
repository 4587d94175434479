/* CCEH: a directory takes segments for a capacity that is not durable, which one thread does alone.
 *
 * The capacity is stored, read again to know how many segments to take, and flushed with the rest of the
 * directory at the end. After a power cut the segments are taken, and no directory has them: they leak. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t taking = PTHREAD_MUTEX_INITIALIZER;

static void take(const struct directory *directory) {
    pthread_mutex_lock(&taking);
    pool->taken += __atomic_load_n(&directory->capacity, __ATOMIC_RELAXED); // READ EFFECT
    persist(&pool->taken, sizeof pool->taken);
    pthread_mutex_unlock(&taking);
}

static void make(struct directory *directory, uint64_t capacity) {
    directory->capacity = capacity; // WRITE
    take(directory);
    persist(directory, sizeof *directory);
}

static void *run(void *number) {
    for (intptr_t i = (intptr_t)number; i < DIRECTORIES; i += MAKERS)
        make(&pool->directory[i], (uint64_t)1 << (1 + i % 4)); // WRITE
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(MAKERS, run);
    return 0;
}

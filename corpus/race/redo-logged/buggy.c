/* A redo log is committed whose record was made of a value that is not durable.
 *
 * After a power cut the log is carried out, and y is more than x. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t lock_of_x = PTHREAD_MUTEX_INITIALIZER;

static void *grow(void *unused) {
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        pthread_mutex_lock(&lock_of_x);
        pool->x = round; // WRITE
        pthread_mutex_unlock(&lock_of_x);
        persist(&pool->x, sizeof pool->x);
    }
    return unused;
}

static void log_append(uint64_t value) {
    pool->record = value; // EFFECT
    persist(&pool->record, sizeof pool->record);
}

static void log_commit(uint64_t value) {
    pool->committed = 1;
    persist(&pool->committed, sizeof pool->committed);
    pool->y = value; // EFFECT
    persist(&pool->y, sizeof pool->y);
    pool->committed = 0;
    persist(&pool->committed, sizeof pool->committed);
}

static void *copy(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_mutex_lock(&lock_of_x);
        uint64_t value = pool->x; // READ
        pthread_mutex_unlock(&lock_of_x);
        log_append(value);
        log_commit(value);
    }
    return unused;
}

static void *run(void *number) {
    return number ? copy(NULL) : grow(NULL);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(2, run);
    return 0;
}

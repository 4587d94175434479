/* A digest is made of a source that may not be durable, with a checksum of both.
 *
 * Whether that is a mistake is up to the recovery: check-fixed.c compares the checksum with the source that
 * is there, and drops what does not fit; check-buggy.c believes the digest. */
#include "pool.h"

static struct pool *pool;
static pthread_mutex_t lock_of[SOURCES] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void grow(int number, uint64_t value) {
    pthread_mutex_lock(&lock_of[number]);
    pool->source[number].value = value; // WRITE
    pthread_mutex_unlock(&lock_of[number]);
    persist(&pool->source[number], sizeof pool->source[number]);
}

static void write_digest(struct digest *digest, uint64_t source) {
    digest->value = 2 * source;                      // EFFECT
    digest->checksum = checksum(source, 2 * source); // EFFECT
    persist(digest, sizeof *digest);
}

static void make_digest(int number) {
    pthread_mutex_lock(&lock_of[number]);
    uint64_t source = pool->source[number].value; // READ
    pthread_mutex_unlock(&lock_of[number]);
    write_digest(&pool->digest[number], source);
}

static void *run(void *thread) {
    for (uint64_t round = 1; round <= ROUNDS; round++)
        if (thread)
            make_digest((int)(intptr_t)thread - 1);
        else
            for (int number = 0; number < SOURCES; number++)
                grow(number, round);
    return NULL;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    together(1 + READERS, run);
    return 0;
}

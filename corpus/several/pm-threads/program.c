/* One thread, then the other. */
#include "pool.h"
#include <pthread.h>

static struct pool *pool;

static void *fill(void *unused) {
    pool->data = 9; // LOST a
    if (mended('a'))
        persist(&pool->data, 8);
    pool->flag = 1; // SURVIVED a
    flush(&pool->data, 8);
    persist(&pool->flag, 8);
    return unused;
}

static void *move(void *unused) {
    pool->old_place = 1;
    persist(&pool->old_place, 8);
    say("placed");
    pool->new_place = 1; // LOST b
    if (mended('b'))
        persist(&pool->new_place, 8);
    pool->old_place = 0; // SURVIVED b
    persist(&pool->old_place, 8);
    persist(&pool->new_place, 8);
    return unused;
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    pool = pool_open(argv[1], "pool", sizeof *pool);
    void *(*const work[])(void *) = {fill, move};
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        need(pthread_create(&thread, NULL, work[i], NULL) == 0 && pthread_join(thread, NULL) == 0, "thread");
    }
    return 0;
}

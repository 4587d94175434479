/* The fixed twin of buggy.c: every line of the letter is flushed. */
#include "pool.h"

static void put(struct pool *pool, const char *text) {
    struct letter *letter = &pool->letter[pool->count];
    letter->number = pool->count + 1;
    memcpy(letter->text, text, strlen(text));
    flush(letter, sizeof *letter);
    fence();
    pool->count++;
    persist(&pool->count, sizeof pool->count);
    say("stored %lu", pool->count);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    put(pool, texts[0]);
    put(pool, texts[1]);
    return 0;
}

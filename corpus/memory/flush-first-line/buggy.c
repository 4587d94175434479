/* A letter is flushed before it is counted, with one clwb: that covers its first 64 bytes, and the letter is
 * longer.
 *
 * The end of the text is never flushed. The power cut leaves a letter that stops in the middle. */
#include "pool.h"

static void put(struct pool *pool, const char *text) {
    struct letter *letter = &pool->letter[pool->count];
    letter->number = pool->count + 1;
    memcpy(letter->text, text, strlen(text)); // LOST
    flush_line(letter);
    fence();
    pool->count++; // SURVIVED
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

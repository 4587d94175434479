/* The first slot forgets the flush of the value, the second one speaks too early. */
#include "pool.h"

static void first(struct slot *slot) {
    slot->value = 101; // LOST a
    if (mended('a'))
        persist(&slot->value, 8);
    slot->used = 1; // SURVIVED a
    persist(&slot->used, 8);
    say("stored 0");
}

static void second(struct slot *slot) {
    slot->value = 102;
    persist(&slot->value, 8);
    slot->used = 1; // LOST b
    if (mended('b'))
        persist(&slot->used, 8);
    say("stored 1"); // ACKED b
    persist(&slot->used, 8);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    first(&pool->slot[0]);
    second(&pool->slot[1]);
    return 0;
}

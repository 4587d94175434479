/* A list whose head is persisted and whose nodes are not: the flush was forgotten.
 *
 * The power cut can keep the head and take the node it points at, even long after the push was confirmed. */
#include "pool.h"

static void push(struct pool *pool, uint64_t value) {
    uint64_t number = pool->head + 1; // SURVIVED
    pool->node[number].next = pool->head; // LOST
    pool->node[number].value = value;     // LOST
    pool->head = number;                  // SURVIVED
    persist(&pool->head, sizeof pool->head);
    say("pushed %lu", value);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    push(pool, 101);
    push(pool, 102);
    push(pool, 103);
    return 0;
}

/* The fixed twin of buggy.c: the node is durable before the head points at it. */
#include "pool.h"

static void push(struct pool *pool, uint64_t value) {
    uint64_t number = pool->head + 1;
    pool->node[number].next = pool->head;
    pool->node[number].value = value;
    persist(&pool->node[number], sizeof pool->node[number]);
    pool->head = number;
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

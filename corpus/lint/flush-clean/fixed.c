/* The fixed twin of buggy.c: what changed is flushed. */
#include "../../memory/pm.h"

struct page {
    uint64_t head;
    uint64_t unused[7];
    uint64_t body[24];
};

struct pool {
    struct page page[2];
};

static void mark(struct page *page, uint64_t number) {
    page->head = number;
    persist(&page->head, sizeof page->head);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct pool *pool = pool_open(argv[1], "pool", sizeof *pool);
    mark(&pool->page[0], 5);
    mark(&pool->page[1], 7);
    return 0;
}

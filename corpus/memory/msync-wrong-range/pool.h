/* A mapped log: the first page counts the records, each record has a page of its own. */
#include "../pm.h"

enum { PAGE = 4096, RECORDS = 2 };

struct page {
    uint64_t count; /* in the first page */
    uint64_t value, again;
    uint64_t unused[PAGE / 8 - 3];
};

struct pool {
    struct page page[1 + RECORDS];
};

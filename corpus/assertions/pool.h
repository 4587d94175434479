/* The persistent memory of the maps: a shared mapping of a file, at a fixed address, or of nothing.
 *
 * It begins with a head, the undo log and the map's root; the rest is a heap. Which blocks of the heap are in
 * use is kept outside of it: after a power cut they are those that the root leads to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOG_SIZE = 1 << 20, ROOT_SIZE = 1 << 10 };

/* What the undo log keeps in the pool: tx.c. */
struct log {
    uint64_t used; /* bytes of the entries that count */
    _Alignas(64) unsigned char entries[LOG_SIZE];
};

struct pool {
    uint64_t item_size; /* of a value */
    struct log log;
    _Alignas(64) unsigned char root[ROOT_SIZE];
    _Alignas(64) unsigned char heap[];
};

extern struct pool *pool;

/* Map a pool of `size` bytes; `path` NULL: of no file. What a file held before is gone, unless it is `kept`.
 */
void open_pool(const char *path, size_t size, bool kept);

/* End the process where there is not enough of something. */
void need_room(bool enough, const char *what);

void *pool_alloc(size_t size); /* at a cache line; ends the process when there is nothing left */
void pool_free(void *block, size_t size);

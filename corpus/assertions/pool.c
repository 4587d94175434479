/* Blocks of whole cache lines, and a list of the free ones for each small size. */
#define _GNU_SOURCE
#include "pool.h"

#include "../memory/pm.h"

#include <errno.h>

enum { SIZES = 128 }; /* lines of the largest blocks that are used again */

struct pool *pool;
static unsigned char *next, *end;
static struct spare {
    struct spare *next;
    void *block;
} *spares[SIZES + 1], *unused;

void open_pool(const char *path, size_t size, bool kept) {
    void *const fixed = (void *)0x40000000000; /* pointers in a file stay good */
    int file = path ? open(path, O_RDWR | O_CLOEXEC | (kept ? 0 : O_CREAT | O_TRUNC), 0644) : -1;
    need(!path || (file >= 0 && ftruncate(file, (off_t)size) == 0), path);
    int flags = MAP_SHARED | MAP_POPULATE | (path ? MAP_FIXED_NOREPLACE : MAP_ANONYMOUS);
    pool = mmap(path ? fixed : NULL, size, PROT_READ | PROT_WRITE, flags, file, 0);
    need(pool != MAP_FAILED, "mmap");
    if (path)
        close(file);
    next = pool->heap;
    end = (unsigned char *)pool + size;
}

void need_room(bool enough, const char *what) {
    if (!enough) {
        errno = ENOSPC;
        need(false, what);
    }
}

static size_t lines_of(size_t size) {
    return (size + LINE - 1) / LINE;
}

void *pool_alloc(size_t size) {
    size_t lines = lines_of(size);
    struct spare *spare = lines <= SIZES ? spares[lines] : NULL;
    if (spare) {
        spares[lines] = spare->next;
        spare->next = unused;
        unused = spare;
        return spare->block;
    }
    void *block = next;
    need_room(lines * LINE <= (size_t)(end - next), "the pool");
    next += lines * LINE;
    return block;
}

void pool_free(void *block, size_t size) {
    size_t lines = lines_of(size);
    if (lines > SIZES)
        return;
    struct spare *spare = unused ? unused : malloc(sizeof *spare);
    need(spare != NULL, "malloc");
    unused = spare == unused ? spare->next : unused;
    *spare = (struct spare){spares[lines], block};
    spares[lines] = spare;
}

/* libpmem: what is flushed, copied or filled is logged, then done: the fence at its end makes both durable.
 *
 * libpmemobj does all its work through these, too: that is how ranges of transactions and the allocator's
 * notes are seen. Its own functions stand here only to tell where the program called them. */
#include "interpose/next.h"
#include "updates.h"

#define NO_DRAIN (1u << 0) /* PMEM_F_MEM_NODRAIN, and the same of libpmemobj */
#define NO_FLUSH (1u << 5) /* PMEM_F_MEM_NOFLUSH */
#define CALLER   __builtin_return_address(0)

/* What lies in a pool is logged before the call; what lies in PMDK's notebook is let through. Calls lie in
 * each other: the outermost is logged. What was streamed into the log is durable when this returns, if it has
 * a fence, even where libpmem's own is none, as on processors without clwb: settling is one. */
#define LOGGED(address, size, log, keep, call)                                                               \
    if (pc_is_note(address) && !pc_log_due)                                                                  \
        return call;                                                                                         \
    struct pc_place place = pc_place_of(address);                                                            \
    bool logged = place.pool && (size) && !pc_self.inside;                                                   \
    if (logged) {                                                                                            \
        pc_self.inside = true;                                                                               \
        log;                                                                                                 \
    }                                                                                                        \
    keep call;                                                                                               \
    if (logged)                                                                                              \
        pc_self.inside = false;                                                                              \
    pc_log_settle()

#define UPDATE pc_update(place, address, address, size, CALLER)
#define FLUSH(name)                                                                                          \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        LOGGED(address, size, UPDATE, , NEXT(name)(address, size));                                          \
    }
/* The same with a fence at its end: what is staged is written. */
#define PERSIST(name)                                                                                        \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        LOGGED(address, size, UPDATE, , (fence(0), NEXT(name)(address, size)));                              \
    }
#define SYNC(name)                                                                                           \
    INTERPOSED int name(const void *address, size_t size) {                                                  \
        LOGGED(address, size, UPDATE, int failed =, (fence(0), NEXT(name)(address, size)));                  \
        return failed;                                                                                       \
    }

static bool flushes(unsigned flags) {
    return !(flags & NO_FLUSH);
}

/* What follows has a fence, unless it has those flags. */
static void fence(unsigned flags) {
    if (flags & NO_DRAIN)
        return;
    pc_log_write();
    if (flushes(flags))
        pc_log_fenced();
}

#define COPY(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, const void *from, size_t size) {                                         \
        LOGGED(to, size, pc_update(place, to, from, size, CALLER), ,                                         \
               (fence(flags), NEXT(name)(to, from, size)));                                                  \
        return to;                                                                                           \
    }
#define COPY_WITH_FLAGS(name)                                                                                \
    INTERPOSED void *name(void *to, const void *from, size_t size, unsigned flags) {                         \
        LOGGED(to, size &&flushes(flags), pc_update(place, to, from, size, CALLER), ,                        \
               (fence(flags), NEXT(name)(to, from, size, flags)));                                           \
        return to;                                                                                           \
    }

PERSIST(pmem_persist)
FLUSH(pmem_flush)
FLUSH(pmem_deep_flush)
SYNC(pmem_deep_persist)
SYNC(pmem_msync)
COPY(pmem_memcpy_persist, 0)
COPY(pmem_memmove_persist, 0)
COPY(pmem_memcpy_nodrain, NO_DRAIN)
COPY(pmem_memmove_nodrain, NO_DRAIN)
COPY_WITH_FLAGS(pmem_memcpy)
COPY_WITH_FLAGS(pmem_memmove)

#define FILL(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, int byte, size_t size) {                                                 \
        LOGGED(to, size, pc_fill(place, byte, size, CALLER), , (fence(flags), NEXT(name)(to, byte, size)));  \
        return to;                                                                                           \
    }
FILL(pmem_memset_persist, 0)
FILL(pmem_memset_nodrain, NO_DRAIN)

INTERPOSED void *pmem_memset(void *to, int byte, size_t size, unsigned flags) {
    LOGGED(to, size && flushes(flags), pc_fill(place, byte, size, CALLER), ,
           (fence(flags), NEXT(pmem_memset)(to, byte, size, flags)));
    return to;
}

INTERPOSED void pmem_drain(void) {
    fence(0);
    NEXT(pmem_drain)();
    pc_log_settle();
}

INTERPOSED int pmem_deep_drain(const void *address, size_t size) {
    fence(0);
    int failed = NEXT(pmem_deep_drain)(address, size);
    pc_log_settle();
    return failed;
}

INTERPOSED void *pmemobj_open(const char *path, const char *layout) {
    pc_self.recovering = true;
    void *pool = NEXT(pmemobj_open)(path, layout);
    pc_self.recovering = false;
    return pool;
}

/* libpmemobj: on behalf of the program's line. */
#define FOR_CALLER(call)                                                                                     \
    const void *outer = pc_self.site;                                                                        \
    pc_self.site = outer ? outer : CALLER;                                                                   \
    call;                                                                                                    \
    pc_self.site = outer

INTERPOSED void pmemobj_persist(void *pool, const void *address, size_t size) {
    FOR_CALLER(NEXT(pmemobj_persist)(pool, address, size));
}

INTERPOSED void pmemobj_flush(void *pool, const void *address, size_t size) {
    FOR_CALLER(NEXT(pmemobj_flush)(pool, address, size));
}

INTERPOSED int pmemobj_xpersist(void *pool, const void *address, size_t size, unsigned flags) {
    FOR_CALLER(int failed = NEXT(pmemobj_xpersist)(pool, address, size, flags));
    return failed;
}

INTERPOSED int pmemobj_xflush(void *pool, const void *address, size_t size, unsigned flags) {
    FOR_CALLER(int failed = NEXT(pmemobj_xflush)(pool, address, size, flags));
    return failed;
}

INTERPOSED void *pmemobj_memcpy_persist(void *pool, void *to, const void *from, size_t size) {
    FOR_CALLER(NEXT(pmemobj_memcpy_persist)(pool, to, from, size));
    return to;
}

INTERPOSED void *pmemobj_memset_persist(void *pool, void *to, int byte, size_t size) {
    FOR_CALLER(NEXT(pmemobj_memset_persist)(pool, to, byte, size));
    return to;
}

INTERPOSED void *pmemobj_memcpy(void *pool, void *to, const void *from, size_t size, unsigned flags) {
    FOR_CALLER(NEXT(pmemobj_memcpy)(pool, to, from, size, flags));
    return to;
}

INTERPOSED void *pmemobj_memmove(void *pool, void *to, const void *from, size_t size, unsigned flags) {
    FOR_CALLER(NEXT(pmemobj_memmove)(pool, to, from, size, flags));
    return to;
}

INTERPOSED void *pmemobj_memset(void *pool, void *to, int byte, size_t size, unsigned flags) {
    FOR_CALLER(NEXT(pmemobj_memset)(pool, to, byte, size, flags));
    return to;
}

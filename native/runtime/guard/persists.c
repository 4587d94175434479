/* libpmem: what is flushed, copied or filled is logged, then done: the fence at its end makes both durable.
 *
 * libpmemobj does all its work through these, too: that is how ranges of transactions and the allocator's
 * notes are seen. Its own functions stand here only to tell where the program called them. */
#include "interpose/next.h"
#include "updates.h"

#define NO_DRAIN      (1u << 0) /* PMEM_F_MEM_NODRAIN, and the same of libpmemobj */
#define NO_FLUSH      (1u << 5) /* PMEM_F_MEM_NOFLUSH */
#define CALLER        __builtin_return_address(0)
#define FENCES(flags) (!((flags) & (NO_DRAIN | NO_FLUSH)))

/* Calls lie in each other: the outermost is logged. */
#define LOGGED(log, call, fences)                                                                            \
    if (pc_self.inside++ == 0)                                                                               \
        log;                                                                                                 \
    call;                                                                                                    \
    pc_self.inside--;                                                                                        \
    if (fences)                                                                                              \
    pc_log_fenced()

#define FLUSH(name)                                                                                          \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        LOGGED(pc_update(address, address, size, CALLER), NEXT(name)(address, size), false);                 \
    }
/* The same with a fence at its end: nothing that waits may wait any longer. */
#define PERSIST(name)                                                                                        \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        LOGGED((pc_update(address, address, size, CALLER), pc_log_waiting()), NEXT(name)(address, size),     \
               true);                                                                                        \
    }
#define SYNC(name)                                                                                           \
    INTERPOSED int name(const void *address, size_t size) {                                                  \
        LOGGED((pc_update(address, address, size, CALLER), pc_log_waiting()),                                \
               int failed = NEXT(name)(address, size), true);                                                \
        return failed;                                                                                       \
    }
#define COPY(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, const void *from, size_t size) {                                         \
        LOGGED(copied(to, from, size, flags, CALLER), NEXT(name)(to, from, size), FENCES(flags));            \
        return to;                                                                                           \
    }
#define COPY_WITH_FLAGS(name)                                                                                \
    INTERPOSED void *name(void *to, const void *from, size_t size, unsigned flags) {                         \
        LOGGED(copied(to, from, size, flags, CALLER), NEXT(name)(to, from, size, flags), FENCES(flags));     \
        return to;                                                                                           \
    }

static void copied(const void *to, const void *from, size_t size, unsigned flags, const void *caller) {
    if (!(flags & NO_FLUSH))
        pc_update(to, from, size, caller);
    if (!(flags & NO_DRAIN))
        pc_log_waiting();
}

static void filled(const void *to, int byte, size_t size, unsigned flags, const void *caller) {
    if (!(flags & NO_FLUSH))
        pc_fill(to, byte, size, caller);
    if (!(flags & NO_DRAIN))
        pc_log_waiting();
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
        LOGGED(filled(to, byte, size, flags, CALLER), NEXT(name)(to, byte, size), FENCES(flags));            \
        return to;                                                                                           \
    }
FILL(pmem_memset_persist, 0)
FILL(pmem_memset_nodrain, NO_DRAIN)

INTERPOSED void *pmem_memset(void *to, int byte, size_t size, unsigned flags) {
    LOGGED(filled(to, byte, size, flags, CALLER), NEXT(pmem_memset)(to, byte, size, flags), FENCES(flags));
    return to;
}

INTERPOSED void pmem_drain(void) {
    pc_log_waiting();
    NEXT(pmem_drain)();
    pc_log_fenced();
}

INTERPOSED int pmem_deep_drain(const void *address, size_t size) {
    pc_log_waiting();
    int failed = NEXT(pmem_deep_drain)(address, size);
    pc_log_fenced();
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

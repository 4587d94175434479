/* libpmem: what is flushed, copied or filled is logged, then done: the fence at its end makes both durable.
 *
 * libpmemobj does all its work through these, too: that is how ranges of transactions and the allocator's
 * notes are seen. Its own functions stand here only to tell where the program called them. */
#include "interpose/next.h"
#include "updates.h"

#include <stddef.h>

#define NO_DRAIN (1u << 0) /* PMEM_F_MEM_NODRAIN, and the same of libpmemobj */
#define NO_FLUSH (1u << 5) /* PMEM_F_MEM_NOFLUSH */
#define CALLER   __builtin_return_address(0)

static bool flushes(unsigned flags) {
    return !(flags & NO_FLUSH);
}

static bool drains(unsigned flags) {
    return !(flags & NO_DRAIN);
}

/* What follows has a fence, unless it has those flags. */
static void fence(unsigned flags) {
    if (!drains(flags))
        return;
    pc_log_write();
    if (flushes(flags))
        pc_log_fenced();
}

/* What was streamed into the log is durable after such a fence. */
static void settle(unsigned flags) {
    if (drains(flags))
        pc_log_settle();
}

/* The function behind, if it is known: then a call that is let through is a jump. */
#define BEHIND(name)  static __typeof__(&name) behind_##name
#define FIND(name)    (behind_##name = NEXT(name))
#define KNOWN(name)   __builtin_expect(behind_##name != NULL, 1)
#define APART(result) static __attribute__((noinline)) result

/* What lies in PMDK's notebook is let through, if nothing has to be written before its fence. */
static bool is_let_through(const void *address) {
    return pc_is_note(address) && !pc_log.due;
}

/* What lies in a pool is logged before the call. Calls lie in each other: the outermost is logged. What was
 * streamed into the log is durable when a call returns that has a fence, even where libpmem's own is none, as
 * on processors without clwb: settling is one. */
#define LOGGED(address, size, flags, log, keep, call)                                                        \
    struct pc_place place = pc_place_of(address);                                                            \
    bool logged = place.pool && (size) && !pc_self.inside;                                                   \
    if (logged) {                                                                                            \
        pc_self.inside = true;                                                                               \
        log;                                                                                                 \
    }                                                                                                        \
    fence(flags);                                                                                            \
    keep call;                                                                                               \
    if (logged)                                                                                              \
        pc_self.inside = false;                                                                              \
    settle(flags)

/* Ranges of a transaction that were logged when its commit began are let through, too. */
#define FLUSH(name)                                                                                          \
    void name(const void *address, size_t size);                                                             \
    BEHIND(name);                                                                                            \
    APART(void) logged_##name(const void *address, size_t size, const void *caller) {                        \
        LOGGED(address, size, NO_DRAIN, pc_update_untold(place, address, address, size, caller), ,           \
               FIND(name)(address, size));                                                                   \
    }                                                                                                        \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        if (KNOWN(name) && (is_let_through(address) || pc_update_is_told(address, size)))                    \
            behind_##name(address, size);                                                                    \
        else                                                                                                 \
            logged_##name(address, size, CALLER);                                                            \
    }

/* The same with a fence at its end: what is staged is written. */
#define PERSIST(name)                                                                                        \
    void name(const void *address, size_t size);                                                             \
    BEHIND(name);                                                                                            \
    APART(void) logged_##name(const void *address, size_t size, const void *caller) {                        \
        LOGGED(address, size, 0, pc_update(place, address, address, size, caller), ,                         \
               FIND(name)(address, size));                                                                   \
    }                                                                                                        \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        if (KNOWN(name) && is_let_through(address))                                                          \
            behind_##name(address, size);                                                                    \
        else                                                                                                 \
            logged_##name(address, size, CALLER);                                                            \
    }
#define SYNC(name)                                                                                           \
    INTERPOSED int name(const void *address, size_t size) {                                                  \
        LOGGED(address, size, 0, pc_update(place, address, address, size, CALLER), int failed =,             \
               NEXT(name)(address, size));                                                                   \
        return failed;                                                                                       \
    }

#define COPY(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, const void *from, size_t size) {                                         \
        LOGGED(to, size, flags, pc_update(place, to, from, size, CALLER), , NEXT(name)(to, from, size));     \
        return to;                                                                                           \
    }
#define COPY_WITH_FLAGS(name)                                                                                \
    void *name(void *to, const void *from, size_t size, unsigned flags);                                     \
    BEHIND(name);                                                                                            \
    APART(void *)                                                                                            \
    logged_##name(void *to, const void *from, size_t size, unsigned flags, const void *caller) {             \
        LOGGED(to, size &&flushes(flags), flags, pc_update(place, to, from, size, caller), ,                 \
               FIND(name)(to, from, size, flags));                                                           \
        return to;                                                                                           \
    }                                                                                                        \
    INTERPOSED void *name(void *to, const void *from, size_t size, unsigned flags) {                         \
        if (KNOWN(name) && is_let_through(to))                                                               \
            return behind_##name(to, from, size, flags);                                                     \
        return logged_##name(to, from, size, flags, CALLER);                                                 \
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
        LOGGED(to, size, flags, pc_fill(place, byte, size, CALLER), , NEXT(name)(to, byte, size));           \
        return to;                                                                                           \
    }
FILL(pmem_memset_persist, 0)
FILL(pmem_memset_nodrain, NO_DRAIN)

void *pmem_memset(void *to, int byte, size_t size, unsigned flags);
BEHIND(pmem_memset);
APART(void *) logged_pmem_memset(void *to, int byte, size_t size, unsigned flags, const void *caller) {
    LOGGED(to, size && flushes(flags), flags, pc_fill(place, byte, size, caller), ,
           FIND(pmem_memset)(to, byte, size, flags));
    return to;
}

INTERPOSED void *pmem_memset(void *to, int byte, size_t size, unsigned flags) {
    if (KNOWN(pmem_memset) && is_let_through(to))
        return behind_pmem_memset(to, byte, size, flags);
    return logged_pmem_memset(to, byte, size, flags, CALLER);
}

void pmem_drain(void);
BEHIND(pmem_drain);
APART(void) settle_and_drain(void) {
    fence(0);
    FIND(pmem_drain)();
    pc_log_settle();
}

INTERPOSED void pmem_drain(void) {
    if (KNOWN(pmem_drain) && !pc_log.due && !pc_log.owes) {
        pc_log_fenced();
        behind_pmem_drain();
    } else {
        settle_and_drain();
    }
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

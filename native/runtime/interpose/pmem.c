/* libpmem: persist, flush, drain, and the copies. */
#include "interpose.h"

enum { NO_DRAIN = 1 << 0, NO_FLUSH = 1 << 5 }; /* PMEM_F_MEM_..., and the same of libpmemobj */

static void tell_flush(const void *address, size_t size, bool drains, const void *caller) {
    tell(PC_FLUSH, address, size, caller);
    if (drains)
        tell(PC_FENCE, NULL, 0, caller);
}

/* A copy of libpmem's writes back by itself, in whatever way is best: as a non-temporal store does. */
static void tell_copy(const void *to, size_t size, unsigned flags, const void *caller) {
    tell(flags & NO_FLUSH ? PC_WRITE : PC_WRITE_NT, to, size, caller);
    if (!(flags & (NO_DRAIN | NO_FLUSH)))
        tell(PC_FENCE, NULL, 0, caller);
}

#define FLUSH(name, drains)                                                                                  \
    INTERPOSED void name(const void *address, size_t size) {                                                 \
        NEXT(name)(address, size);                                                                           \
        tell_flush(address, size, drains, CALLER);                                                           \
    }
#define SYNC(name)                                                                                           \
    INTERPOSED int name(const void *address, size_t size) {                                                  \
        int failed = NEXT(name)(address, size);                                                              \
        if (!failed)                                                                                         \
            tell_flush(address, size, true, CALLER);                                                         \
        return failed;                                                                                       \
    }
#define COPY(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, const void *from, size_t size) {                                         \
        void *result = NEXT(name)(to, from, size);                                                           \
        tell_copy(to, size, flags, CALLER);                                                                  \
        return result;                                                                                       \
    }
#define FILL(name, flags)                                                                                    \
    INTERPOSED void *name(void *to, int byte, size_t size) {                                                 \
        void *result = NEXT(name)(to, byte, size);                                                           \
        tell_copy(to, size, flags, CALLER);                                                                  \
        return result;                                                                                       \
    }

FLUSH(pmem_persist, true)
FLUSH(pmem_flush, false)
FLUSH(pmem_deep_flush, false)
SYNC(pmem_deep_persist)
SYNC(pmem_msync)
COPY(pmem_memcpy_persist, 0)
COPY(pmem_memmove_persist, 0)
COPY(pmem_memcpy_nodrain, NO_DRAIN)
COPY(pmem_memmove_nodrain, NO_DRAIN)
FILL(pmem_memset_persist, 0)
FILL(pmem_memset_nodrain, NO_DRAIN)

INTERPOSED void pmem_drain(void) {
    NEXT(pmem_drain)();
    tell(PC_FENCE, NULL, 0, CALLER);
}

INTERPOSED int pmem_deep_drain(const void *address, size_t size) {
    int failed = NEXT(pmem_deep_drain)(address, size);
    tell(PC_FENCE, NULL, 0, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED void *pmem_memcpy(void *to, const void *from, size_t size, unsigned flags) {
    void *result = NEXT(pmem_memcpy)(to, from, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

INTERPOSED void *pmem_memmove(void *to, const void *from, size_t size, unsigned flags) {
    void *result = NEXT(pmem_memmove)(to, from, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

INTERPOSED void *pmem_memset(void *to, int byte, size_t size, unsigned flags) {
    void *result = NEXT(pmem_memset)(to, byte, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

/* The same of libpmemobj, which has the pool in front. */
INTERPOSED void pmemobj_persist(void *pool, const void *address, size_t size) {
    NEXT(pmemobj_persist)(pool, address, size);
    tell_flush(address, size, true, CALLER);
}

INTERPOSED void pmemobj_flush(void *pool, const void *address, size_t size) {
    NEXT(pmemobj_flush)(pool, address, size);
    tell_flush(address, size, false, CALLER);
}

INTERPOSED int pmemobj_xpersist(void *pool, const void *address, size_t size, unsigned flags) {
    int failed = NEXT(pmemobj_xpersist)(pool, address, size, flags);
    tell_flush(address, size, true, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED int pmemobj_xflush(void *pool, const void *address, size_t size, unsigned flags) {
    int failed = NEXT(pmemobj_xflush)(pool, address, size, flags);
    tell_flush(address, size, false, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED void pmemobj_drain(void *pool) {
    NEXT(pmemobj_drain)(pool);
    tell(PC_FENCE, NULL, 0, CALLER);
}

INTERPOSED void *pmemobj_memcpy_persist(void *pool, void *to, const void *from, size_t size) {
    void *result = NEXT(pmemobj_memcpy_persist)(pool, to, from, size);
    tell_copy(to, size, 0, CALLER);
    return result;
}

INTERPOSED void *pmemobj_memset_persist(void *pool, void *to, int byte, size_t size) {
    void *result = NEXT(pmemobj_memset_persist)(pool, to, byte, size);
    tell_copy(to, size, 0, CALLER);
    return result;
}

INTERPOSED void *pmemobj_memcpy(void *pool, void *to, const void *from, size_t size, unsigned flags) {
    void *result = NEXT(pmemobj_memcpy)(pool, to, from, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

INTERPOSED void *pmemobj_memmove(void *pool, void *to, const void *from, size_t size, unsigned flags) {
    void *result = NEXT(pmemobj_memmove)(pool, to, from, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

INTERPOSED void *pmemobj_memset(void *pool, void *to, int byte, size_t size, unsigned flags) {
    void *result = NEXT(pmemobj_memset)(pool, to, byte, size, flags);
    tell_copy(to, size, flags, CALLER);
    return result;
}

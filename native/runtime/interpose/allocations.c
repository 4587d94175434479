/* libpmemobj's allocations outside of transactions: the library itself makes the pointer to the object
 * persistent. */
#include "interpose.h"
#include "objects.h"

static void tell_pointer(const struct object_id *where, const void *caller) {
    tell(PC_LIBRARY_FLUSH, where, where ? sizeof *where : 0, where ? caller : NULL);
    tell(PC_FENCE, NULL, 0, caller);
}

typedef int constructor(void *pool, void *object, void *with);

/* The program's constructor, and what it is called for. Nothing leads to the object yet. */
struct construction {
    constructor *construct;
    void *with;
    size_t size;
    const void *caller;
};

static int construct(void *pool, void *object, void *with) {
    const struct construction *what = with;
    tell_new(object, what->size, what->caller);
    return what->construct(pool, object, what->with);
}

#define CONSTRUCTION(given, with, size)                                                                      \
    &(struct construction) {                                                                                 \
        given, with, size, CALLER                                                                            \
    }

INTERPOSED int pmemobj_alloc(void *pool, struct object_id *where, size_t size, uint64_t type,
                             constructor *given, void *with) {
    int failed = NEXT(pmemobj_alloc)(pool, where, size, type, given ? construct : NULL,
                                     CONSTRUCTION(given, with, size));
    tell_pointer(where, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED int pmemobj_xalloc(void *pool, struct object_id *where, size_t size, uint64_t type, uint64_t flags,
                              constructor *given, void *with) {
    int failed = NEXT(pmemobj_xalloc)(pool, where, size, type, flags, given ? construct : NULL,
                                      CONSTRUCTION(given, with, size));
    tell_pointer(where, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED struct object_id pmemobj_root_construct(void *pool, size_t size, constructor *given, void *with) {
    return NEXT(pmemobj_root_construct)(pool, size, given ? construct : NULL,
                                        CONSTRUCTION(given, with, size));
}

INTERPOSED struct object_id pmemobj_list_insert_new(void *pool, size_t offset, void *head,
                                                    struct object_id next, int before, size_t size,
                                                    uint64_t type, constructor *given, void *with) {
    return NEXT(pmemobj_list_insert_new)(pool, offset, head, next, before, size, type,
                                         given ? construct : NULL, CONSTRUCTION(given, with, size));
}

#define ALLOCATE(name)                                                                                       \
    INTERPOSED int name(void *pool, struct object_id *where, size_t size, uint64_t type) {                   \
        int failed = NEXT(name)(pool, where, size, type);                                                    \
        tell_pointer(where, failed ? NULL : CALLER);                                                         \
        return failed;                                                                                       \
    }
ALLOCATE(pmemobj_zalloc)
ALLOCATE(pmemobj_realloc)
ALLOCATE(pmemobj_zrealloc)

INTERPOSED int pmemobj_strdup(void *pool, struct object_id *where, const char *text, uint64_t type) {
    int failed = NEXT(pmemobj_strdup)(pool, where, text, type);
    tell_pointer(where, failed ? NULL : CALLER);
    return failed;
}

INTERPOSED void pmemobj_free(struct object_id *where) {
    NEXT(pmemobj_free)(where);
    tell_pointer(where, CALLER);
}

INTERPOSED int pmemobj_publish(void *pool, void *actions, size_t count) {
    int failed = NEXT(pmemobj_publish)(pool, actions, count);
    tell(PC_FENCE, NULL, 0, failed ? NULL : CALLER);
    return failed;
}

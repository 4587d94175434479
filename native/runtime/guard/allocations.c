/* libpmemobj's objects that come and go outside of transactions, known by the pointers that PMDK sets. What
 * PMDK does meanwhile is for the program's line. */
#include "interpose/next.h"
#include "log.h"
#include "objects.h"
#include "pools.h"
#include "updates.h"

#include <stddef.h>

#define CALLER __builtin_return_address(0)

size_t pmemobj_alloc_usable_size(struct object_id id);

size_t pc_object_size(struct object_id id) {
    return id.offset ? NEXT(pmemobj_alloc_usable_size)(id) : 0;
}

void pc_object(enum pc_guard_kind kind, struct object_id id, size_t size, const void *site) {
    struct pc_place place = {0, 0};
    if (id.offset && !is_of_pmdk(site))
        place = pc_place_of(NEXT(pmemobj_direct)(id));
    if (!place.pool)
        return;
    pc_log_note(&(struct pc_log_entry){.kind = kind,
                                       .pool = place.pool,
                                       .offset = place.offset,
                                       .site = (uint64_t)(uintptr_t)site,
                                       .transaction = pc_self.transaction,
                                       .size = size});
    if (!pc_self.transaction) /* else with what the transaction changes */
        pc_log_write_staged(), pc_log_settle();
}

static int allocated(int failed, const struct object_id *where, const void *site) {
    if (!failed && where)
        pc_object(PC_GUARD_ALLOCATE, *where, pc_object_size(*where), site);
    return failed;
}

static void freed(const struct object_id *where, const void *site) {
    if (where)
        pc_object(PC_GUARD_FREE, *where, pc_object_size(*where), site);
}

#define FOR_CALLER(call)                                                                                     \
    const void *outer = pc_self.site;                                                                        \
    pc_self.site = outer ? outer : CALLER;                                                                   \
    call;                                                                                                    \
    pc_self.site = outer

typedef int constructor(void *pool, void *object, void *with);

INTERPOSED int pmemobj_alloc(void *pool, struct object_id *where, size_t size, uint64_t type,
                             constructor *construct, void *with) {
    FOR_CALLER(int failed = NEXT(pmemobj_alloc)(pool, where, size, type, construct, with));
    return allocated(failed, where, CALLER);
}

INTERPOSED int pmemobj_xalloc(void *pool, struct object_id *where, size_t size, uint64_t type, uint64_t flags,
                              constructor *construct, void *with) {
    FOR_CALLER(int failed = NEXT(pmemobj_xalloc)(pool, where, size, type, flags, construct, with));
    return allocated(failed, where, CALLER);
}

INTERPOSED int pmemobj_zalloc(void *pool, struct object_id *where, size_t size, uint64_t type) {
    FOR_CALLER(int failed = NEXT(pmemobj_zalloc)(pool, where, size, type));
    return allocated(failed, where, CALLER);
}

INTERPOSED int pmemobj_strdup(void *pool, struct object_id *where, const char *text, uint64_t type) {
    FOR_CALLER(int failed = NEXT(pmemobj_strdup)(pool, where, text, type));
    return allocated(failed, where, CALLER);
}

INTERPOSED int pmemobj_realloc(void *pool, struct object_id *where, size_t size, uint64_t type) {
    freed(where, CALLER);
    FOR_CALLER(int failed = NEXT(pmemobj_realloc)(pool, where, size, type));
    return allocated(0, where, CALLER), failed;
}

INTERPOSED int pmemobj_zrealloc(void *pool, struct object_id *where, size_t size, uint64_t type) {
    freed(where, CALLER);
    FOR_CALLER(int failed = NEXT(pmemobj_zrealloc)(pool, where, size, type));
    return allocated(0, where, CALLER), failed;
}

INTERPOSED void pmemobj_free(struct object_id *where) {
    freed(where, CALLER);
    FOR_CALLER(NEXT(pmemobj_free)(where));
}

/* libpmemobj's transactions. What was added or allocated is made persistent by the outermost commit, and
 * rolled back (persistently, too) by an abort: the library is trusted with that. What the program must do is
 * to add all it changes.
 *
 * An abort may jump out of any call, so what has happened is seen from the stage that the next call finds. */
#include "interpose.h"
#include "objects.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STAGE_NONE, STAGE_WORK, STAGE_ON_COMMIT, STAGE_ON_ABORT }; /* enum pobj_tx_stage */
enum { NO_FLUSH = 1 << 1, NO_SNAPSHOT = 1 << 2 };                 /* POBJ_XADD_..., POBJ_XALLOC_... */
enum { RANGES_FIRST = 32, DEEPEST = 64 };

int pmemobj_tx_stage(void);

/* This thread's transactions. */
static _Thread_local struct {
    unsigned depth;
    uint64_t open; /* a bit for each depth: its beginning is told, and its end is not */
    struct span {
        const void *address;
        size_t size;
    } *spans; /* what the library makes persistent at the end */
    size_t count, room;
} tx;

static uint64_t innermost(void) {
    return tx.depth && tx.depth <= DEEPEST ? (uint64_t)1 << (tx.depth - 1) : 0;
}

static void remember(const void *address, size_t size) {
    if (tx.count == tx.room) {
        size_t room = tx.room ? 2 * tx.room : RANGES_FIRST;
        struct span *more = realloc(tx.spans, room * sizeof *more);
        if (!more)
            return;
        tx.spans = more;
        tx.room = room;
    }
    tx.spans[tx.count++] = (struct span){address, size};
}

static void tell_all_is_safe(const void *caller) {
    for (size_t i = 0; i < tx.count; i++)
        tell(PC_LIBRARY_FLUSH, tx.spans[i].address, tx.spans[i].size, caller);
    tell(PC_FENCE, NULL, 0, caller);
    tx.count = 0;
}

/* Tell what has become of the innermost transaction, once. After a commit the program may still run code in
 * its last stages, which is in this transaction no more. */
static void tell_stage(const void *caller) {
    if (!caller)
        return; /* PMDK calls a function of its own: the program's call tells it */
    int stage = NEXT(pmemobj_tx_stage)();
    if (stage == STAGE_ON_ABORT && tx.open) {
        tell_all_is_safe(caller);
        tell(PC_TX_ABORT, NULL, 0, caller); /* of all that lie in each other */
        tx.open = 0;
    } else if (stage != STAGE_WORK && tx.open & innermost()) {
        if (tx.depth == 1)
            tell_all_is_safe(caller);
        tell(PC_TX_END, NULL, 0, caller);
        tx.open &= ~innermost();
    }
}

INTERPOSED int pmemobj_tx_begin(void *pool, jmp_buf target, ...) {
    va_list more;
    va_start(more, target);
    int failed = next_tx_begin(pool, target, more);
    va_end(more);
    const void *caller = failed ? NULL : CALLER;
    if (NEXT(pmemobj_tx_stage)() != STAGE_NONE)
        tx.depth++;
    tell(PC_TX_BEGIN, NULL, 0, caller);
    tx.open |= caller ? innermost() : 0;
    return failed;
}

INTERPOSED void pmemobj_tx_commit(void) {
    NEXT(pmemobj_tx_commit)();
    tell_stage(CALLER);
}

INTERPOSED void pmemobj_tx_process(void) {
    const void *caller = CALLER;
    tell_stage(caller); /* it may have been aborted by a jump */
    NEXT(pmemobj_tx_process)();
    tell_stage(caller);
}

INTERPOSED void pmemobj_tx_abort(int reason) {
    const void *caller = CALLER;
    if (tx.open && caller) {
        tell_all_is_safe(caller);
        tell(PC_TX_ABORT, NULL, 0, caller);
        tx.open = 0;
    }
    NEXT(pmemobj_tx_abort)(reason); /* which may not return */
}

INTERPOSED int pmemobj_tx_end(void) {
    tell_stage(CALLER);
    tx.depth -= tx.depth > 0;
    if (!tx.depth) {
        free(tx.spans);
        tx.spans = NULL;
        tx.count = tx.room = 0;
        tx.open = 0;
    }
    return NEXT(pmemobj_tx_end)(); /* which may abort the transaction around it */
}

static void tell_added(const void *address, size_t size, uint64_t flags, const void *caller) {
    tell(flags & NO_SNAPSHOT ? PC_TX_ALLOC : PC_TX_ADD, address, size, caller);
    if (!(flags & NO_FLUSH))
        remember(address, size);
}

/* Not by pmemobj_direct, which some versions have in their header alone. A pool begins with its handle. */
static const void *at(struct object_id id, uint64_t offset) {
    return (const char *)NEXT(pmemobj_pool_by_oid)(id) + id.offset + offset;
}

void tell_new(const void *address, size_t size, const void *caller) {
    if (tx.open)
        tell(PC_TX_ALLOC, address, size, caller);
}

INTERPOSED int pmemobj_tx_add_range(struct object_id id, uint64_t offset, size_t size) {
    int failed = NEXT(pmemobj_tx_add_range)(id, offset, size);
    if (!failed)
        tell_added(at(id, offset), size, 0, CALLER);
    return failed;
}

INTERPOSED int pmemobj_tx_add_range_direct(const void *address, size_t size) {
    int failed = NEXT(pmemobj_tx_add_range_direct)(address, size);
    if (!failed)
        tell_added(address, size, 0, CALLER);
    return failed;
}

INTERPOSED int pmemobj_tx_xadd_range(struct object_id id, uint64_t offset, size_t size, uint64_t flags) {
    int failed = NEXT(pmemobj_tx_xadd_range)(id, offset, size, flags);
    if (!failed)
        tell_added(at(id, offset), size, flags, CALLER);
    return failed;
}

INTERPOSED int pmemobj_tx_xadd_range_direct(const void *address, size_t size, uint64_t flags) {
    int failed = NEXT(pmemobj_tx_xadd_range_direct)(address, size, flags);
    if (!failed)
        tell_added(address, size, flags, CALLER);
    return failed;
}

static struct object_id allocated(struct object_id id, size_t size, uint64_t flags, const void *caller) {
    if (id.offset)
        tell_added(at(id, 0), size, NO_SNAPSHOT | (flags & NO_FLUSH), caller);
    return id;
}

INTERPOSED struct object_id pmemobj_tx_alloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_alloc)(size, type), size, 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zalloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_zalloc)(size, type), size, 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_xalloc(size_t size, uint64_t type, uint64_t flags) {
    return allocated(NEXT(pmemobj_tx_xalloc)(size, type, flags), size, flags, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_realloc(struct object_id id, size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_realloc)(id, size, type), size, 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zrealloc(struct object_id id, size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_zrealloc)(id, size, type), size, 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_strdup(const char *text, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_strdup)(text, type), text ? strlen(text) + 1 : 0, 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_xstrdup(const char *text, uint64_t type, uint64_t flags) {
    return allocated(NEXT(pmemobj_tx_xstrdup)(text, type, flags), text ? strlen(text) + 1 : 0, flags, CALLER);
}

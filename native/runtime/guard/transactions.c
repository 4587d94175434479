/* libpmemobj's transactions: their ranges, with the lines that gave them, and their ends. What a transaction
 * changes is logged when it commits; one that is aborted changes nothing. That it is complete is logged with
 * what the thread makes durable next, or at the thread's end.
 *
 * An abort may jump out of any call, so nothing is kept here that a call would have to put back. */
#include "interpose/next.h"
#include "log.h"
#include "objects.h"
#include "spans.h"
#include "updates.h"

#include <setjmp.h>

enum { PARAM_NONE };        /* enum pobj_tx_param */
enum { NO_FLUSH = 1 << 1 }; /* POBJ_FLAG_NO_FLUSH: the program does that itself */

int pmemobj_tx_stage(void);

static _Thread_local struct object_id freed_last; /* by this transaction */

INTERPOSED int pmemobj_tx_begin(void *pool, jmp_buf target, ...) {
    va_list more;
    va_start(more, target);
    bool plain = va_arg(more, int) == PARAM_NONE;
    va_end(more);
    va_start(more, target);
    int failed = plain ? next_plain_tx_begin(pool, target) : next_tx_begin(pool, target, more);
    va_end(more);
    if (failed && NEXT(pmemobj_tx_stage)() == STAGE_NONE)
        return failed;
    if (pc_self.depth++ == 0) {
        pc_self.transaction = pc_log_number();
        pc_self.late = false;
        pc_self.told = false;
        pc_self.saving = false; /* an abort may have jumped out of it */
        freed_last = (struct object_id){0, 0};
        pc_spans_clear();
    }
    pc_self.late |= !plain; /* the program may be called when it commits; or these are but locks */
    return failed;
}

/* Before libpmemobj commits: what is streamed into the log is then on its way while the pool is flushed. */
static void commits(void) {
    if (pc_self.depth == 1 && pc_self.transaction && !pc_self.late && !pc_self.told &&
        NEXT(pmemobj_tx_stage)() == STAGE_WORK)
        pc_update_transaction();
}

static void committed(void) {
    pc_log_settle();
    if (pc_self.depth == 1 && pc_self.transaction && NEXT(pmemobj_tx_stage)() == STAGE_ON_COMMIT) {
        pc_log_complete(pc_self.transaction);
        pc_self.transaction = 0;
        pc_self.told = false; /* the program may go on to change it */
    }
}

INTERPOSED void pmemobj_tx_commit(void) {
    commits();
    NEXT(pmemobj_tx_commit)();
    committed();
}

INTERPOSED void pmemobj_tx_process(void) {
    commits();
    NEXT(pmemobj_tx_process)();
    committed();
}

INTERPOSED int pmemobj_tx_end(void) {
    pc_self.depth -= pc_self.depth > 0;
    if (pc_self.depth == 0) {
        pc_self.transaction = 0;
        pc_self.told = false;
        pc_spans_clear();
    }
    return NEXT(pmemobj_tx_end)(); /* which may abort the transaction around it */
}

static const void *at(struct object_id id, uint64_t offset) {
    return (const char *)NEXT(pmemobj_direct)(id) + offset;
}

#define CALLER __builtin_return_address(0)

/* Meanwhile what libpmemobj copies is for its own use, wherever it finds room for it. */
#define SAVED(call)                                                                                          \
    pc_self.saving = true;                                                                                   \
    int failed = call;                                                                                       \
    pc_self.saving = false;                                                                                  \
    return failed

INTERPOSED int pmemobj_tx_add_range(struct object_id id, uint64_t offset, size_t size) {
    pc_span_add(at(id, offset), size, CALLER, true);
    SAVED(NEXT(pmemobj_tx_add_range)(id, offset, size));
}

INTERPOSED int pmemobj_tx_add_range_direct(const void *address, size_t size) {
    pc_span_add(address, size, CALLER, true);
    SAVED(NEXT(pmemobj_tx_add_range_direct)(address, size));
}

INTERPOSED int pmemobj_tx_xadd_range(struct object_id id, uint64_t offset, size_t size, uint64_t flags) {
    if (!(flags & NO_FLUSH))
        pc_span_add(at(id, offset), size, CALLER, true);
    SAVED(NEXT(pmemobj_tx_xadd_range)(id, offset, size, flags));
}

INTERPOSED int pmemobj_tx_xadd_range_direct(const void *address, size_t size, uint64_t flags) {
    if (!(flags & NO_FLUSH))
        pc_span_add(address, size, CALLER, true);
    SAVED(NEXT(pmemobj_tx_xadd_range_direct)(address, size, flags));
}

/* All of it is new, and libpmemobj flushes all of it, also what is more than was asked for. */
static struct object_id allocated(struct object_id id, uint64_t flags, const void *site) {
    size_t size = pc_object_size(id);
    if (id.offset) {
        if (!(flags & NO_FLUSH))
            pc_span_add(at(id, 0), size, site, false);
        pc_object(PC_GUARD_ALLOCATE, id, size, site);
    }
    return id;
}

INTERPOSED struct object_id pmemobj_tx_alloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_alloc)(size, type), 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zalloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_zalloc)(size, type), 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_xalloc(size_t size, uint64_t type, uint64_t flags) {
    return allocated(NEXT(pmemobj_tx_xalloc)(size, type, flags), flags, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_strdup(const char *text, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_strdup)(text, type), 0, CALLER);
}

/* One that the same transaction allocated is no longer its own: others may get it at once. libpmemobj's ways
 * to free lead to each other. */
static void freed(struct object_id id, const void *site) {
    uintptr_t until = 0;
    if (id.offset == freed_last.offset && id.pool == freed_last.pool)
        return;
    freed_last = id;
    const struct pc_span *span = id.offset ? pc_span_at((uintptr_t)at(id, 0), &until) : NULL;
    pc_self.late |= span && !span->old;
    pc_object(PC_GUARD_FREE, id, pc_object_size(id), site);
}

INTERPOSED struct object_id pmemobj_tx_realloc(struct object_id id, size_t size, uint64_t type) {
    freed(id, CALLER);
    return allocated(NEXT(pmemobj_tx_realloc)(id, size, type), 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zrealloc(struct object_id id, size_t size, uint64_t type) {
    freed(id, CALLER);
    return allocated(NEXT(pmemobj_tx_zrealloc)(id, size, type), 0, CALLER);
}

INTERPOSED int pmemobj_tx_free(struct object_id id) {
    freed(id, CALLER);
    return NEXT(pmemobj_tx_free)(id);
}

INTERPOSED int pmemobj_tx_xfree(struct object_id id, uint64_t flags) {
    freed(id, CALLER);
    return NEXT(pmemobj_tx_xfree)(id, flags);
}

/* libpmemobj's transactions: their ranges, with the lines that gave them, and their ends. What a transaction
 * changes is logged when libpmemobj flushes it, at its commit; one that is aborted changes nothing.
 *
 * An abort may jump out of any call, so nothing is kept here that a call would have to put back. */
#include "interpose/next.h"
#include "log.h"
#include "objects.h"
#include "updates.h"

#include <setjmp.h>
#include <string.h>

int pmemobj_tx_stage(void);

INTERPOSED int pmemobj_tx_begin(void *pool, jmp_buf target, ...) {
    va_list more;
    va_start(more, target);
    int failed = next_tx_begin(pool, target, more);
    va_end(more);
    if (NEXT(pmemobj_tx_stage)() == STAGE_NONE)
        return failed;
    if (pc_self.depth++ == 0) {
        pc_self.transaction = pc_log_number();
        pc_spans_clear();
    }
    return failed;
}

static void committed(void) {
    if (pc_self.depth == 1 && pc_self.transaction && NEXT(pmemobj_tx_stage)() == STAGE_ON_COMMIT) {
        pc_wait(&(struct pc_log_entry){.kind = PC_GUARD_COMMIT, .transaction = pc_self.transaction});
        pc_log_waiting();
        pc_self.transaction = 0;
    }
}

INTERPOSED void pmemobj_tx_commit(void) {
    NEXT(pmemobj_tx_commit)();
    committed();
}

INTERPOSED void pmemobj_tx_process(void) {
    NEXT(pmemobj_tx_process)();
    committed();
}

INTERPOSED int pmemobj_tx_end(void) {
    pc_self.depth -= pc_self.depth > 0;
    if (pc_self.depth == 0) {
        pc_self.transaction = 0;
        pc_spans_clear();
        pc_log_waiting(); /* of one that was aborted */
    }
    return NEXT(pmemobj_tx_end)(); /* which may abort the transaction around it */
}

static const void *at(struct object_id id, uint64_t offset) {
    return (const char *)NEXT(pmemobj_direct)(id) + offset;
}

#define CALLER __builtin_return_address(0)

INTERPOSED int pmemobj_tx_add_range(struct object_id id, uint64_t offset, size_t size) {
    pc_span_add(at(id, offset), size, CALLER, true);
    return NEXT(pmemobj_tx_add_range)(id, offset, size);
}

INTERPOSED int pmemobj_tx_add_range_direct(const void *address, size_t size) {
    pc_span_add(address, size, CALLER, true);
    return NEXT(pmemobj_tx_add_range_direct)(address, size);
}

INTERPOSED int pmemobj_tx_xadd_range(struct object_id id, uint64_t offset, size_t size, uint64_t flags) {
    pc_span_add(at(id, offset), size, CALLER, true);
    return NEXT(pmemobj_tx_xadd_range)(id, offset, size, flags);
}

INTERPOSED int pmemobj_tx_xadd_range_direct(const void *address, size_t size, uint64_t flags) {
    pc_span_add(address, size, CALLER, true);
    return NEXT(pmemobj_tx_xadd_range_direct)(address, size, flags);
}

static struct object_id allocated(struct object_id id, size_t size, const void *site) {
    if (id.offset) {
        pc_span_add(at(id, 0), size, site, false); /* all of it is new */
        pc_object(PC_GUARD_ALLOCATE, id, site);
    }
    return id;
}

INTERPOSED struct object_id pmemobj_tx_alloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_alloc)(size, type), size, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zalloc(size_t size, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_zalloc)(size, type), size, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_xalloc(size_t size, uint64_t type, uint64_t flags) {
    return allocated(NEXT(pmemobj_tx_xalloc)(size, type, flags), size, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_strdup(const char *text, uint64_t type) {
    return allocated(NEXT(pmemobj_tx_strdup)(text, type), text ? strlen(text) + 1 : 0, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_realloc(struct object_id id, size_t size, uint64_t type) {
    pc_object(PC_GUARD_FREE, id, CALLER);
    return allocated(NEXT(pmemobj_tx_realloc)(id, size, type), size, CALLER);
}

INTERPOSED struct object_id pmemobj_tx_zrealloc(struct object_id id, size_t size, uint64_t type) {
    pc_object(PC_GUARD_FREE, id, CALLER);
    return allocated(NEXT(pmemobj_tx_zrealloc)(id, size, type), size, CALLER);
}

INTERPOSED int pmemobj_tx_free(struct object_id id) {
    pc_object(PC_GUARD_FREE, id, CALLER);
    return NEXT(pmemobj_tx_free)(id);
}

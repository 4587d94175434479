/* What pmdk.h promises, as far as a test needs it. Functions of the library end in jumps into each other, or call
 * each other, through the table of imports: as in versions that were linked without -Bsymbolic. */
#include "pmdk.h"

#include <immintrin.h>

static char *pool;
static uint64_t used = 512;
static int stage, depth;

void *pmemobj_open_memory(void *memory) {
    return pool = memory;
}

void *pmemobj_pool_by_oid(PMEMoid id) {
    return pool;
}

int pmemobj_tx_begin(void *given, jmp_buf target, ...) {
    stage = STAGE_WORK;
    depth++;
    return 0;
}

int pmemobj_tx_stage(void) {
    return stage;
}

void pmemobj_tx_commit(void) {
    stage = STAGE_ON_COMMIT;
}

void pmemobj_tx_process(void) {
    if (stage == STAGE_WORK)
        pmemobj_tx_commit();
    else
        stage = STAGE_NONE;
    __asm__ volatile(""); /* so that it is a call */
}

int pmemobj_tx_end(void) {
    stage = --depth ? STAGE_WORK : STAGE_NONE;
    return 0;
}

int pmemobj_tx_xadd_range(PMEMoid id, uint64_t offset, size_t size, uint64_t flags) {
    return 0;
}

int pmemobj_tx_add_range(PMEMoid id, uint64_t offset, size_t size) {
    return pmemobj_tx_xadd_range(id, offset, size, 0);
}

PMEMoid pmemobj_tx_xalloc(size_t size, uint64_t type, uint64_t flags) {
    used += size;
    return (PMEMoid){1, used - size};
}

PMEMoid pmemobj_tx_alloc(size_t size, uint64_t type) {
    return pmemobj_tx_xalloc(size, type, 0);
}

int pmemobj_alloc(void *given, PMEMoid *where, size_t size, uint64_t type, constructor *construct, void *with) {
    *where = (PMEMoid){1, used};
    used += size;
    return construct ? construct(pool, pool + where->offset, with) : 0;
}

void pmemobj_persist(void *given, const void *address, size_t size) {
    for (uintptr_t line = (uintptr_t)address & ~63ul; line < (uintptr_t)address + size; line += 64)
        _mm_clflush((const void *)line);
    _mm_sfence();
}

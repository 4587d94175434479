/* libpmemobj as its version 1.4 was: pmemobj_direct is a function of the header alone. */
#ifndef OLD_PMDK_H
#define OLD_PMDK_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t pool, offset;
} PMEMoid;
typedef int constructor(void *pool, void *object, void *with);
enum { STAGE_NONE, STAGE_WORK, STAGE_ON_COMMIT };

void *pmemobj_open_memory(void *memory);
void *pmemobj_pool_by_oid(PMEMoid id);
int pmemobj_tx_begin(void *pool, jmp_buf target, ...);
int pmemobj_tx_stage(void);
void pmemobj_tx_commit(void);
void pmemobj_tx_process(void);
int pmemobj_tx_end(void);
int pmemobj_tx_add_range(PMEMoid id, uint64_t offset, size_t size);
int pmemobj_tx_xadd_range(PMEMoid id, uint64_t offset, size_t size, uint64_t flags);
PMEMoid pmemobj_tx_alloc(size_t size, uint64_t type);
PMEMoid pmemobj_tx_xalloc(size_t size, uint64_t type, uint64_t flags);
int pmemobj_alloc(void *pool, PMEMoid *where, size_t size, uint64_t type, constructor *construct, void *with);
void pmemobj_persist(void *pool, const void *address, size_t size);

static inline void *direct(PMEMoid id) {
    return (char *)pmemobj_pool_by_oid(id) + id.offset;
}

#endif

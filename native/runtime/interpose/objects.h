/* libpmemobj's ids of objects. Its header is not needed to build powercut. */
#ifndef POWERCUT_OBJECTS_H
#define POWERCUT_OBJECTS_H

#include <stddef.h>
#include <stdint.h>

struct object_id { /* PMEMoid */
    uint64_t pool, offset;
};
void *pmemobj_direct(struct object_id id);
void *pmemobj_pool_by_oid(struct object_id id);

/* An object is new: in a transaction it needs no backup. */
void tell_new(const void *address, size_t size, const void *caller);

#endif

/* libpmemobj's ids of objects. Its header is not needed to build powercut. */
#ifndef POWERCUT_OBJECTS_H
#define POWERCUT_OBJECTS_H

#include <stdint.h>

struct object_id { /* PMEMoid */
    uint64_t pool, offset;
};
void *pmemobj_direct(struct object_id id);

#endif

/* What PMDK's examples take from their ex_common.h, which Debian leaves out of libpmemobj-dev. */
#ifndef EX_COMMON_H
#define EX_COMMON_H

#include <libpmemobj.h>
#include <stdint.h>
#include <string.h>
#include <sys/param.h> /* MIN */
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CREATE_MODE_RW (S_IWUSR | S_IRUSR)

/* mapcli stores keys without values. In PMDK 1.12 OID_INSTANCEOF dies of a null pointer if there is no
 * object, so that the second insert of `mapcli ctree` would crash. No object is of no type. */
#undef OID_INSTANCEOF
#define OID_INSTANCEOF(object, type) (!OID_IS_NULL(object) && pmemobj_type_num(object) == TOID_TYPE_NUM(type))

/* 0 if it exists */
static inline int file_exists(const char *path) {
    return access(path, F_OK);
}

/* The number of the highest bit that is set. */
static inline unsigned char find_last_set_64(uint64_t value) {
    return (unsigned char)(63 - __builtin_clzll(value));
}

#endif

/* For LD_PRELOAD behind the guard's library: the pool is persistent memory, the log (by the size of its segments) is
 * not. So the log's records are never flushed, and a power cut takes any of them. */
#include <stddef.h>

int pmem_is_pmem(const void *address, size_t size) {
    (void)address;
    return size != 8 << 20;
}

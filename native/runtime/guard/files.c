/* Mappings that come and go, and msync: for files of the page cache the durable point. */
#define _GNU_SOURCE
#include "interpose/next.h"
#include "pools.h"
#include "real.h"
#include "updates.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALLER __builtin_return_address(0)

static bool is_shared(int flags) {
    int type = flags & MAP_TYPE;
    return !(flags & MAP_ANONYMOUS) && (type == MAP_SHARED || type == MAP_SHARED_VALIDATE);
}

static void *map(void *address, size_t size, int protection, int flags, int file, off_t offset,
                 const void *caller) {
    void *mapped = pc_real_mmap(address, size, protection, flags, file, offset);
    if (mapped == MAP_FAILED)
        return mapped;
    pc_unmapped(mapped, size);
    if (is_shared(flags) && (protection & PROT_WRITE))
        pc_mapped(mapped, size, file, offset, caller);
    return mapped;
}

INTERPOSED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    return map(address, size, protection, flags, file, offset, CALLER);
}

INTERPOSED void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset) {
    return map(address, size, protection, flags, file, offset, CALLER);
}

INTERPOSED int munmap(void *address, size_t size) {
    pc_unmapped(address, size); /* before another thread gets the same addresses */
    return pc_real_munmap(address, size);
}

INTERPOSED int msync(void *address, size_t size, int flags) {
    struct pc_place place = pc_place_of(address);
    if (place.pool && size && !pc_self.inside)
        pc_update(place, address, address, size, CALLER);
    pc_log_write();
    int failed = (int)syscall(SYS_msync, address, size, flags);
    pc_log_settle();
    if (!failed && (flags & MS_SYNC))
        pc_log_fenced();
    return failed;
}

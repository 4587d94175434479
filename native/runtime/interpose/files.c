/* Files that a program maps to share them are its persistent memory, unless it registers pools. */
#define _GNU_SOURCE
#include "interpose.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A file with a name, or a device; what has no name is gone with the program, whatever is stored in it. */
static bool is_lasting(int file) {
    struct stat status;
    int reason = errno;
    bool lasting = file >= 0 && fstat(file, &status) == 0 &&
                   ((S_ISREG(status.st_mode) && status.st_nlink > 0) || S_ISCHR(status.st_mode));
    errno = reason;
    return lasting;
}

static bool is_shared(int flags) {
    return !(flags & MAP_ANONYMOUS) &&
           ((flags & MAP_TYPE) == MAP_SHARED || (flags & MAP_TYPE) == MAP_SHARED_VALIDATE);
}

INTERPOSED void *mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    void *mapped = (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
    if (mapped != MAP_FAILED)
        pc_watch_file_(mapped, size, is_shared(flags) && is_lasting(file));
    return mapped;
}

INTERPOSED void *mmap64(void *address, size_t size, int protection, int flags, int file, off64_t offset) {
    return mmap(address, size, protection, flags, file, offset);
}

INTERPOSED int munmap(void *address, size_t size) {
    int failed = (int)syscall(SYS_munmap, address, size);
    if (!failed)
        pc_watch_file_(address, size, 0);
    return failed;
}

INTERPOSED void *mremap(void *address, size_t size, size_t new_size, int flags, ...) {
    va_list more;
    va_start(more, flags);
    void *wish = flags & MREMAP_FIXED ? va_arg(more, void *) : NULL;
    va_end(more);
    int was_watched = pc_is_file_(address);
    void *moved = (void *)syscall(SYS_mremap, address, size, new_size, flags, wish);
    if (moved != MAP_FAILED && was_watched) {
        pc_watch_file_(address, size, 0);
        pc_watch_file_(moved, new_size, 1);
    }
    return moved;
}

INTERPOSED int msync(void *address, size_t size, int flags) {
    int failed = (int)syscall(SYS_msync, address, size, flags);
    const void *caller = failed || !(flags & MS_SYNC) ? NULL : CALLER;
    tell(PC_LIBRARY_FLUSH, address, size, caller); /* whole pages: more than was written is no mistake */
    tell(PC_FENCE, NULL, 0, caller);
    return failed;
}

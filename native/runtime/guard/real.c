#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

void *pc_real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}

int pc_real_munmap(void *address, size_t size) {
    return (int)syscall(SYS_munmap, address, size);
}

bool pc_real_is_persistent(const void *address, size_t size) {
    int (*ask)(const void *, size_t) = (int (*)(const void *, size_t))dlsym(RTLD_NEXT, "pmem_is_pmem");
    return ask && ask(address, size);
}

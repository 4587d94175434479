/* What the guard does itself, past the functions that stand in front of it. */
#ifndef POWERCUT_GUARD_REAL_H
#define POWERCUT_GUARD_REAL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

void *pc_real_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset);
int pc_real_munmap(void *address, size_t size);
/* libpmem's, if the program has it; else nothing is persistent memory. */
bool pc_real_is_persistent(const void *address, size_t size);

#endif

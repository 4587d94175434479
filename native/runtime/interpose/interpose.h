/* What the functions share that stand in front of the C library's and PMDK's.
 *
 * Each does what it stands for, through NEXT, and tells what that meant: to memory that is watched, at the
 * line of its caller. What PMDK's libraries call of each other is their own affair and is not told. */
#ifndef POWERCUT_INTERPOSE_H
#define POWERCUT_INTERPOSE_H

#include "powercut.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INTERPOSED __attribute__((visibility("default")))

/* The function of the same name behind this one. */
#define NEXT(name)                                                                                           \
    (__extension__({                                                                                         \
        static __typeof__(&name) next_##name;                                                                \
        if (!next_##name)                                                                                    \
            next_##name = (__typeof__(&name))next_function(#name);                                           \
        next_##name;                                                                                         \
    }))
void *next_function(const char *name);

/* The caller of an interposed function, if what it asks for is to be told; else NULL. */
#define CALLER caller_to_tell(__builtin_return_address(0))
const void *caller_to_tell(const void *address);

void tell(enum pc_operation operation, const void *address, size_t size, const void *caller);

#endif

/* What the functions share that stand in front of the C library's and PMDK's.
 *
 * Each does what it stands for, through NEXT, and tells what that meant: to memory that is watched, at the
 * line of its caller. What PMDK's libraries call of each other is their own affair and is not told. */
#ifndef POWERCUT_INTERPOSE_H
#define POWERCUT_INTERPOSE_H

#include "next.h"
#include "powercut.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The caller of an interposed function, if what it asks for is to be told; else NULL. */
#define CALLER caller_to_tell(__builtin_return_address(0))
const void *caller_to_tell(const void *address);

void tell(enum pc_operation operation, const void *address, size_t size, const void *caller);

#endif

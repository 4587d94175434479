/* Stores, flushes and fences that are told to powercut where they are made: each macro does the thing and
 * records it with the line it is used in. Without POWERCUT only the thing is left. */
#pragma once

#include "../memory/pm.h"

#include <powercut.h>

/* With SKIPPABLE, a line's flush, fence, or what it tells a transaction, is left out where that was chosen.
 */
#ifdef SKIPPABLE
#include "skip.h"
#define UNLESS_SKIPPED(call) (is_skipped(__FILE__, __LINE__) ? (void)0 : (void)(call))
#else
#define UNLESS_SKIPPED(call) (call)
#endif

#define STORE(place, value)  ((place) = (value), pc_write(&(place), sizeof(place)))
#define FILL(to, from, size) (memcpy(to, from, size), pc_write(to, size))
#define FLUSH(start, size)   (UNLESS_SKIPPED(flush(start, size)), pc_flush(start, size))
#define FENCE()              (UNLESS_SKIPPED(fence()), pc_fence())
#define PERSIST(start, size) (FLUSH(start, size), FENCE())

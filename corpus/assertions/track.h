/* Stores, flushes and fences that are told to powercut where they are made: each macro does the thing and
 * records it with the line it is used in. Without POWERCUT only the thing is left. */
#pragma once

#include "../memory/pm.h"

#include <powercut.h>

#define STORE(place, value)  ((place) = (value), pc_write(&(place), sizeof(place)))
#define FILL(to, from, size) (memcpy(to, from, size), pc_write(to, size))
#define FLUSH(start, size)   (flush(start, size), pc_flush(start, size))
#define FENCE()              (fence(), pc_fence())
#define PERSIST(start, size) (FLUSH(start, size), FENCE())

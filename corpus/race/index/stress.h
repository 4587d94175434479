/* Random operations in which each thread is sure what its own keys must be. */
#pragma once

#include "map.h"

/* The exit status: 1 if a map was seen to be wrong. */
int stress(const struct map *map, uint64_t seed, uint64_t count, int threads);

/* Where a key goes. */
#pragma once

#include <stdint.h>

static inline uint64_t hash_of(uint64_t key) {
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

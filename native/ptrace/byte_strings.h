/* Strings of bytes as keys of hash tables. */
#ifndef POWERCUT_BYTE_STRINGS_H
#define POWERCUT_BYTE_STRINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct pc_bytes {
    const void *data;
    uint64_t length;
    uint64_t hash;
};

static inline struct pc_bytes pc_bytes_of(const void *bytes, uint64_t length) {
    const uint8_t *data = bytes;
    uint64_t h = length * 0x9e3779b97f4a7c15ull, left = length, word;
    for (; left >= 8; data += 8, left -= 8) {
        memcpy(&word, data, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdull;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, data, left);
    h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
    return (struct pc_bytes){bytes, length, h ^ h >> 29};
}

static inline bool pc_bytes_same(struct pc_bytes one, struct pc_bytes other) {
    return one.hash == other.hash && one.length == other.length &&
           memcmp(one.data, other.data, one.length) == 0;
}

#endif

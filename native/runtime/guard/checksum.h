/* CRC-32C, by the instruction for it: a record of one cache line takes eight of them. Words are read where
 * they begin: what was just written word by word is then at hand. */
#ifndef POWERCUT_GUARD_CHECKSUM_H
#define POWERCUT_GUARD_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pc_word_at(const unsigned char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

__attribute__((target("sse4.2"))) static inline uint32_t pc_crc32c(uint32_t crc, const void *data,
                                                                   size_t size) {
    const unsigned char *at = data;
    uint64_t sum = ~crc;
    if ((uintptr_t)at % 8 == 4 && size >= 4) {
        uint32_t half;
        memcpy(&half, at, sizeof half);
        sum = __builtin_ia32_crc32si((uint32_t)sum, half);
        size -= 4, at += 4;
    }
    for (; size >= 32; size -= 32, at += 32) {
        sum = __builtin_ia32_crc32di(sum, pc_word_at(at));
        sum = __builtin_ia32_crc32di(sum, pc_word_at(at + 8));
        sum = __builtin_ia32_crc32di(sum, pc_word_at(at + 16));
        sum = __builtin_ia32_crc32di(sum, pc_word_at(at + 24));
    }
    for (; size >= 8; size -= 8, at += 8)
        sum = __builtin_ia32_crc32di(sum, pc_word_at(at));
    for (; size > 0; size--, at++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *at);
    return ~(uint32_t)sum;
}

#endif

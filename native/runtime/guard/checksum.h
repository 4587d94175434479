/* CRC-32C, by the instruction for it: a record of one cache line takes eight of them. */
#ifndef POWERCUT_GUARD_CHECKSUM_H
#define POWERCUT_GUARD_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

__attribute__((target("sse4.2"))) static inline uint32_t pc_crc32c(uint32_t crc, const void *data,
                                                                   size_t size) {
    const unsigned char *at = data;
    uint64_t sum = ~crc;
    for (; size >= 8; size -= 8, at += 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    for (; size > 0; size--, at++)
        sum = __builtin_ia32_crc32qi((uint32_t)sum, *at);
    return ~(uint32_t)sum;
}

#endif

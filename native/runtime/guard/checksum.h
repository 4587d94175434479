/* The checksum of a record: four CRC-32C, by the instruction for it, side by side, since each takes three
 * cycles for a word and four of them no longer. The words of a record go to one after the other, the checksum
 * itself as zero, and zeros up to a whole line. */
#ifndef POWERCUT_GUARD_CHECKSUM_H
#define POWERCUT_GUARD_CHECKSUM_H

#include "words.h"

enum { PC_SUMS = 4, PC_SUMMED = 8 * PC_SUMS };

struct pc_checksum {
    uint64_t sums[PC_SUMS];
};

static inline struct pc_checksum pc_checksum_begin(uint32_t salt) {
    return (struct pc_checksum){{salt, ~salt, salt ^ 0x55555555u, salt ^ 0x33333333u}};
}

#define PC_CRC __attribute__((target("sse4.2"))) static inline

/* Further words of a record: a multiple of PC_SUMMED bytes. */
PC_CRC void pc_checksum_add(struct pc_checksum *sum, const char *at, size_t size) {
    uint64_t a = sum->sums[0], b = sum->sums[1], c = sum->sums[2], d = sum->sums[3];
    for (; size >= PC_SUMMED; size -= PC_SUMMED, at += PC_SUMMED) {
        a = __builtin_ia32_crc32di(a, pc_word_at(at));
        b = __builtin_ia32_crc32di(b, pc_word_at(at + 8));
        c = __builtin_ia32_crc32di(c, pc_word_at(at + 16));
        d = __builtin_ia32_crc32di(d, pc_word_at(at + 24));
    }
    *sum = (struct pc_checksum){{a, b, c, d}};
}

/* By products: CRCs of CRCs would let words that are each other's shift make up for each other. */
static inline uint32_t pc_checksum_end(const struct pc_checksum *sum) {
    const uint64_t odd = 0x9e3779b97f4a7c15u;
    uint64_t all = sum->sums[0];
    for (unsigned i = 1; i < PC_SUMS; i++)
        all = (all ^ all >> 29) * odd + sum->sums[i];
    all = (all ^ all >> 29) * odd;
    return (uint32_t)(all >> 32);
}

#endif

/* Memory word by word. */
#ifndef POWERCUT_GUARD_WORDS_H
#define POWERCUT_GUARD_WORDS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pc_word_at(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Fewer bytes than a word, with zeros. */
static inline uint64_t pc_part_at(const char *at, size_t size) {
    uint64_t word = 0;
    uint32_t half;
    if (size == sizeof half)
        memcpy(&half, at, sizeof half), word = half;
    else
        memcpy(&word, at, size & 7);
    return word;
}

static inline void pc_put_word(char *to, uint64_t word) {
    memcpy(to, &word, sizeof word);
}

#endif

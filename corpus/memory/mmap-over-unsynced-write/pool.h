/* Texts in a file that is written to, and a mapped index that says where each one is. */
#include "../pm.h"

enum { PAGE = 4096, TEXTS = 2 };

struct entry {    /* one word, so that it is stored in one step */
    uint32_t end; /* of the text in the file; 0: there is no text of this number */
    uint32_t sum; /* of its bytes */
};

union index {
    struct entry entry[TEXTS];
    uint64_t word[PAGE / 8];
};

static const char *const texts[TEXTS] = {"good morning", "good night"};

static inline uint32_t sum_of(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)text[i]) * 16777619u;
    return hash;
}

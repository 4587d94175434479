/* A bounds-checked reader over untrusted bytes (ELF and DWARF data).
 *
 * Before: `at`..`end` is memory that we own. After any read: the cursor never passes `end`; a read that would
 * sets `bad`, gives 0 and every later read does the same, so parsers may read a whole structure and ask once.
 */
#ifndef POWERCUT_STACKS_CFI_CURSOR_H
#define POWERCUT_STACKS_CFI_CURSOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct cfi_cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline struct cfi_cursor cfi_cursor_of(const uint8_t *data, uint64_t length) {
    return (struct cfi_cursor){data, data + length, false};
}

static inline bool cfi_more(const struct cfi_cursor *c) {
    return !c->bad && c->at < c->end;
}

static inline void cfi_bytes(struct cfi_cursor *c, void *out, uint64_t length) {
    if (c->bad || (uint64_t)(c->end - c->at) < length) {
        c->bad = true;
        memset(out, 0, length);
        return;
    }
    memcpy(out, c->at, length);
    c->at += length;
}

static inline void cfi_skip(struct cfi_cursor *c, uint64_t length) {
    if (c->bad || (uint64_t)(c->end - c->at) < length)
        c->bad = true;
    else
        c->at += length;
}

static inline uint8_t cfi_u8(struct cfi_cursor *c) {
    uint8_t v;
    cfi_bytes(c, &v, sizeof v);
    return v;
}

static inline uint16_t cfi_u16(struct cfi_cursor *c) {
    uint16_t v;
    cfi_bytes(c, &v, sizeof v);
    return v;
}

static inline uint32_t cfi_u32(struct cfi_cursor *c) {
    uint32_t v;
    cfi_bytes(c, &v, sizeof v);
    return v;
}

static inline uint64_t cfi_u64(struct cfi_cursor *c) {
    uint64_t v;
    cfi_bytes(c, &v, sizeof v);
    return v;
}

static inline uint64_t cfi_uleb(struct cfi_cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = cfi_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return value;
    }
}

static inline int64_t cfi_sleb(struct cfi_cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0;;) {
        uint8_t byte = cfi_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if (byte & 0x80)
            continue;
        if ((byte & 0x40) && shift < 64)
            value |= ~0ull << shift;
        return (int64_t)value;
    }
}

#endif

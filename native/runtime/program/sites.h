/* Numbers of instructions: a table that only grows, looked up without a lock. */
#ifndef POWERCUT_SITES_H
#define POWERCUT_SITES_H

#include "program.h"

enum { ADDRESS_SLOTS = 1 << 14 };

struct address_slot {
    _Atomic uintptr_t code;
    _Atomic uint32_t number;
};
extern struct address_slot addresses[ADDRESS_SLOTS];

static inline size_t slot_of(uintptr_t code) {
    return (size_t)((code * 0x9e3779b97f4a7c15u) >> 40) % ADDRESS_SLOTS;
}

/* The number of an instruction that had one in this session already; else 0. Looks where it most likely is.
 */
static inline uint32_t known_address(uintptr_t code) {
    enum { NEAR = 4 };
    size_t slot = slot_of(code);
    for (unsigned i = 0; i < NEAR; i++, slot = (slot + 1) % ADDRESS_SLOTS) {
        if (atomic_load_explicit(&addresses[slot].code, memory_order_relaxed) != code)
            continue;
        uint32_t number = atomic_load_explicit(&addresses[slot].number, memory_order_relaxed);
        return number >> 24 == (session.number & 0xff) ? number : 0;
    }
    return 0;
}

#endif

/* A slot: a key and its value in one line. Writers hold a lock that covers the slot; readers hold none.
 *
 * The value is stored before the key, and the key is cleared before the value changes to that of another one:
 * as both are in one line, where stores persist in their order, no power cut shows a key with a value that is
 * not its own. */
#pragma once

#include "map.h"

struct slot {
    uint64_t key; /* 0: the slot is free */
    uint64_t value;
};

static inline struct slot slot_read(const struct slot *slot) {
    struct slot seen;
    do {
        seen.value = __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE); // READ value
        seen.key = __atomic_load_n(&slot->key, __ATOMIC_ACQUIRE);
    } while (seen.value != __atomic_load_n(&slot->value, __ATOMIC_ACQUIRE));
    return seen;
}

/* The slot of a key among some, of 0 for a free one; NULL if there is none. */
static inline struct slot *slot_find(struct slot *slots, int count, uint64_t key) {
    for (int i = 0; i < count; i++)
        if (__atomic_load_n(&slots[i].key, __ATOMIC_ACQUIRE) == key)
            return &slots[i];
    return NULL;
}

static inline void slot_fill(struct slot *slot, uint64_t key, uint64_t value) {
    __atomic_store_n(&slot->value, value, __ATOMIC_RELEASE); // WRITE value EFFECT
    __atomic_store_n(&slot->key, key, __ATOMIC_RELEASE);     // WRITE value EFFECT
}

static inline void slot_clear(struct slot *slot) {
    __atomic_store_n(&slot->key, 0, __ATOMIC_RELEASE);
}

/* Mark the key of a slot as removed; whether it was there. NULL is a slot of no key. */
static inline bool remove_from(struct slot *slot) {
    if (!slot || !is_there(slot->value))
        return false;
    slot_fill(slot, slot->key, fresh_value(slot->key) | GONE);
    persist(slot, sizeof *slot);
    return true;
}

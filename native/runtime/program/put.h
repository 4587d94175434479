/* A record: two stores into the thread's own ring, in which there must be room. */
#ifndef POWERCUT_PUT_H
#define POWERCUT_PUT_H

#include "program.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

static inline __attribute__((always_inline)) void put(unsigned code, uint64_t address, uint64_t size,
                                                      uint32_t site) {
    struct record *record = &self.records[self.next & self.mask];
    uint64_t lap = self.next & (self.mask + 1) ? 0 : (uint64_t)1 << RECORD_LAP_SHIFT;
    uint64_t bytes = UNLIKELY(size > RECORD_HUGE) ? RECORD_HUGE : size;
    record->address = address;
    atomic_store_explicit(&record->word,
                          bytes << RECORD_SIZE_SHIFT | (uint64_t)(site & RECORD_SITE) << RECORD_SITE_SHIFT |
                              lap | code,
                          memory_order_release);
    self.next++;
}

#endif

/* A record: two stores into the thread's own ring.
 *
 * A signal's handler may record, too, at any moment. So a lane is marked while a record is put into it, and a
 * handler that finds it marked leaves it alone; it has a lane of its own (lanes.c). In between the lane is
 * whole, and the handler's records stand where the signal came. */
#ifndef POWERCUT_PUT_H
#define POWERCUT_PUT_H

#include "program.h"

#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* The order of stores as a handler of this thread sees it. */
#define IN_THIS_ORDER() atomic_signal_fence(memory_order_seq_cst)

static inline __attribute__((always_inline)) uintptr_t this_stack(void) {
#if defined(__x86_64__)
    uintptr_t stack;
    __asm__("movq %%rsp, %0" : "=r"(stack));
    return stack;
#else
    return (uintptr_t)__builtin_frame_address(0);
#endif
}

static inline __attribute__((always_inline)) void store_record(struct lane *lane, uint64_t position,
                                                               unsigned code, uint64_t address, uint64_t size,
                                                               uint32_t site) {
    struct record *record = &lane->records[position & lane->mask];
    uint64_t lap = position & (lane->mask + 1) ? 0 : (uint64_t)1 << RECORD_LAP_SHIFT;
    uint64_t bytes = UNLIKELY(size > RECORD_HUGE) ? RECORD_HUGE : size;
    record->address = address;
    atomic_store_explicit(&record->word,
                          bytes << RECORD_SIZE_SHIFT | (uint64_t)(site & RECORD_SITE) << RECORD_SITE_SHIFT |
                              lap | code,
                          memory_order_release);
}

/* False, and nothing is done: the lane has no room, or is being put into. */
static inline __attribute__((always_inline)) bool put_in(struct lane *lane, unsigned code, uint64_t address,
                                                         uint64_t size, uint32_t site) {
    if (UNLIKELY(lane->putting))
        return false;
    lane->putting = this_stack();
    IN_THIS_ORDER();
    uint64_t next = lane->next;
    bool room = next < lane->limit;
    if (__builtin_expect(room, 1)) {
        store_record(lane, next, code, address, size, site);
        lane->next = next + 1;
    }
    IN_THIS_ORDER();
    lane->putting = 0;
    return room;
}

static inline __attribute__((always_inline)) bool put(unsigned code, uint64_t address, uint64_t size,
                                                      uint32_t site) {
    return put_in(&self.lane[0], code, address, size, site);
}

#endif

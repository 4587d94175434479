/* The record of an instruction, as far as that goes without anything that might touch a vector register: this
 * file is compiled for general registers only, and calls nothing. */
#include "guarded.h"

#include "../program/put.h"
#include "../program/sites.h"

_Static_assert(AT_WRITE == PC_WRITE && AT_WRITE_NT == PC_WRITE_NT && AT_FLUSH == PC_FLUSH &&
                   AT_A_FENCE == PC_FENCE,
               "entries.S has the numbers of powercut.h");

/* A thread that is not tracked in this session, and will not be by an operation. */
static bool is_untracked(void) {
    if (!atomic_load_explicit(&session.channel, memory_order_relaxed))
        return true;
    return self.session == session.number ? !self.started : !session.every_thread;
}

int pc_record_moment(const struct moment *moment) {
    if (!note_for_guard(moment))
        return 1;
    unsigned way = way_of(moment);
    bool fences = way == AT_FENCE || way == AT_LOCKED,
         writes = way != AT_FENCE && is_watched(moment->address);
    if ((!fences && !writes) || is_untracked())
        return 0;
    uint64_t size;
    uint32_t site = known_address(moment->caller - 1);
    if (self.phase != atomic_load_explicit(&pc_phase, memory_order_relaxed) || !site ||
        !size_of(moment, &size))
        return 1;
    if (fences && !put(PC_FENCE, 0, 0, site))
        return 1;
    /* without room the fence is recorded again: a second one in the same place changes nothing */
    return writes && size && !put(moment->code & 0xff, moment->address, size, site);
}

/* Under `powercut guard`: what a thread flushes, or stores around the cache, from the instruction to its
 * fence. There the guard is told, so that its log has it before the fence is executed. */
#ifndef POWERCUT_GUARDED_H
#define POWERCUT_GUARDED_H

#include "moment.h"
#include "watch.h"

enum { NOTED_MOST = 32 }; /* few: they are in every thread's static memory, of which plugins get little */

struct noted {
    uint64_t address, size, site;
};
struct noted_list {
    bool is_told; /* just now: a signal's handler must not begin again */
    unsigned count;
    struct noted at[NOTED_MOST];
};
extern _Thread_local struct noted_list noted __attribute__((tls_model("initial-exec")));

static inline bool is_fence(const struct moment *moment) {
    return way_of(moment) == AT_FENCE || way_of(moment) == AT_LOCKED;
}

/* Whether the guard must know of it at the next fence. */
static inline bool is_to_be_noted(const struct moment *moment) {
    unsigned operation = moment->code & 0xff;
    return (operation == AT_FLUSH || operation == AT_WRITE_NT) && is_in(&guarded_list, moment->address);
}

static inline void note(const struct moment *moment) {
    uint64_t size = 0;
    size_of(moment, &size);
    noted.at[noted.count++] = (struct noted){moment->address, size, moment->caller};
}

/* False: a fence with something before it, or no more room: tell_guard does it. Touches no vector
 * register. */
static inline bool note_for_guard(const struct moment *moment) {
    if (is_fence(moment))
        return noted.count == 0;
    if (!is_to_be_noted(moment))
        return true;
    if (noted.count == NOTED_MOST)
        return false;
    note(moment);
    return true;
}

/* Tells the guard of all that is noted, and notes the instruction itself, if it is no fence. */
void tell_guard(const struct moment *moment);

#endif

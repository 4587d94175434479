/* Which bytes of a pool a change made what they are.
 *
 * Before: changes and frees are told oldest first, from the bases on. After each: for each byte of it whether
 * that is a new version (guard/authorship.h): others would soon push out the one that matters. */
#ifndef POWERCUT_GUARD_EFFECTS_H
#define POWERCUT_GUARD_EFFECTS_H

#include "guard/pages.h"
#include "guard/records.h"

struct pc_effects {
    struct pc_pages pages;
    const int *bases;    /* descriptors, by the numbers of the pools */
    unsigned char *bits; /* for each byte of each change, one after the other */
    uint64_t count, room;
};

void pc_effects_make(struct pc_effects *effects, const int *bases);
/* Tells a change; where its bits begin, UINT64_MAX without memory. */
uint64_t pc_effects_add(struct pc_effects *effects, const struct pc_guard_record *record, const char *data);
/* Tells that an object was freed; false without memory. */
bool pc_effects_forget(struct pc_effects *effects, const struct pc_guard_record *record);
/* How many bytes of a change of so many, from `from` on, have the effect of the first one. */
uint64_t pc_effects_run(const struct pc_effects *effects, uint64_t bits, uint64_t from, uint64_t size,
                        bool *effective);
void pc_effects_free(struct pc_effects *effects);

#endif

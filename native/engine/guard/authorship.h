/* Who is the author of what a pool holds: the one rule that plans (guard/authors.c, by words) and reclaiming
 * (guard/effects.c, by bytes) go by.
 *
 * A change that leaves something as it was is no new version of it: programs make whole objects durable of
 * which they changed one field. But if nobody is known to have written it before (it was found, is PMDK's, or
 * of an object that was freed), whoever writes it again is the one to name; unless the change is known to
 * hold only what was changed, and small gaps between. */
#ifndef POWERCUT_GUARD_AUTHORSHIP_H
#define POWERCUT_GUARD_AUTHORSHIP_H

#include <stdbool.h>

enum pc_author { /* who made a change: versions.py */
                 PC_AUTHOR_UNKNOWN,
                 PC_AUTHOR_KNOWN,
                 PC_AUTHOR_CHANGER, /* known, and wrote only what is not as it was */
};

static inline bool pc_is_new_version(bool same, bool had_author, enum pc_author author) {
    return !same || (!had_author && author == PC_AUTHOR_KNOWN);
}

#endif

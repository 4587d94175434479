/* How many versions of each byte of the pools were met, from the newest on.
 *
 * Before: changes are told newest first. After each: which of its bytes are among the newest versions, which
 * are the first ones older than that, and which are older still. */
#ifndef POWERCUT_GUARD_VERSIONS_H
#define POWERCUT_GUARD_VERSIONS_H

#include "guard/pages.h"

#define PC_VERSIONS_MOST 250 /* counted in a byte, with room for "one more" */

enum pc_fate {
    PC_KEPT,    /* one of the newest */
    PC_FOLDED,  /* the newest of the others: what the base shall hold */
    PC_DROPPED, /* all older ones */
    PC_VOID,    /* no version at all */
};

struct pc_versions {
    unsigned most;         /* versions to keep */
    struct pc_pages pages; /* a byte for each byte */
};

/* One more version of the bytes from `offset` on, up to the first with another fate than the first one's;
 * how many they are, 0 without memory. */
uint64_t pc_versions_add(struct pc_versions *versions, unsigned pool, uint64_t offset, uint64_t size,
                         enum pc_fate *fate);
/* Whether of each of some bytes the next older version would be kept, or folded. */
bool pc_versions_reach(struct pc_versions *versions, unsigned pool, uint64_t offset, uint64_t size);

#endif

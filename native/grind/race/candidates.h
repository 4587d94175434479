/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads of what is not guaranteed. */
#ifndef POWERCUT_GRIND_RACE_CANDIDATES_H
#define POWERCUT_GRIND_RACE_CANDIDATES_H

#include "accesses.h"
#include "taint/taint.h"

struct pc_load {
    const struct pc_range *range;
    struct pc_access_site *site;
    UInt occurrence;
    UInt stack; /* 0: not asked for yet */
};

/* The running thread loads bytes of one word, some of which a pending store of the line has stored. Writes
 * the record, if there are not too many of its kind; returns its label. */
pc_labels pc_candidate(struct pc_load *load, const struct pc_shadow_line *line,
                       const struct pc_pending_store *store, ULong offset, ULong mask);

/* Whether it would have a label. */
Bool pc_candidate_is_due(const struct pc_load *load, const struct pc_pending_store *store);

/* Whether the store that a candidate has read is guaranteed by now. */
Bool pc_candidate_is_over(ULong number);
/* Whether a store of these bytes is a store of the candidate's own ones. */
Bool pc_candidate_is_at(ULong number, UInt file, ULong offset, UInt size);

#endif

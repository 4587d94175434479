/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a thread waits for others, whatever the clock says. */
#ifndef POWERCUT_GRIND_RACE_PATIENCE_H
#define POWERCUT_GRIND_RACE_PATIENCE_H

#include "crew.h"

struct pc_patience {
    UInt rounds; /* that are left */
    UInt idle;   /* in a row */
    UInt until;  /* milliseconds; `blocks`: the same on the other clock */
    ULong blocks;
    ULong last, flushes; /* blocks and flushes until the last round, */
    UInt threads;        /* and threads that were created */
};

struct pc_patience pc_patience(UInt rounds, UInt milliseconds);
/* Whether it has been long enough after another round. */
Bool pc_patience_ends(struct pc_patience *left, enum pc_round round);
/* A thread flushes: it gets on with what it does. */
void pc_patience_flushed(void);

#endif

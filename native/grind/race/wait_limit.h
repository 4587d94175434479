/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a thread waits for others: a limit in rounds and blocks of code, whatever the clock says. */
#ifndef POWERCUT_GRIND_RACE_WAIT_LIMIT_H
#define POWERCUT_GRIND_RACE_WAIT_LIMIT_H

#include "thread_states.h"

struct pc_wait_limit {
    UInt rounds; /* that are left */
    UInt idle;   /* in a row */
    UInt until;  /* milliseconds; `blocks`: the same on the other clock */
    ULong blocks;
    ULong last, flushes; /* blocks and flushes until the last round, */
    UInt threads;        /* and threads that were created */
};

struct pc_wait_limit pc_wait_limit(UInt rounds, UInt milliseconds);
/* Whether it has been long enough after another round. */
Bool pc_wait_limit_reached(struct pc_wait_limit *left, enum pc_round round);
/* A thread flushes: it gets on with what it does. */
void pc_wait_limit_flushed(void);

#endif

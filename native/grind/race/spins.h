/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that spin: their turn ends, so that whom they wait for has one. */
#ifndef POWERCUT_GRIND_RACE_SPINS_H
#define POWERCUT_GRIND_RACE_SPINS_H

#include "ranges.h"

/* The running thread loads from mapped memory at `pc`, or is about to swap what is there. */
void pc_spins_loaded(Addr pc, Addr address, UInt size, Bool swaps);
/* It has stored to mapped memory. */
void pc_spins_stored(Addr address, UInt size);

/* Something happened that may end the waiting of a thread: memory was changed, a call came back. */
void pc_spins_got_on(void);
/* Whether a thread has done nothing but spin for very long. */
Bool pc_spins_for_ever(ThreadId tid);
/* A STUCK record of such a thread: where it looks at the word, not where it came to. */
void pc_spins_tell(ThreadId tid);

/* Blocks that Valgrind counts as executed and that were not. */
extern ULong pc_spins_skipped;

#endif

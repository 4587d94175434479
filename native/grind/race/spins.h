/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads that spin: their turn ends, so that whom they wait for has one. */
#ifndef POWERCUT_GRIND_RACE_SPINS_H
#define POWERCUT_GRIND_RACE_SPINS_H

#include "ranges.h"

/* The running thread loads from mapped memory, or is about to swap what is there. */
void pc_spins_loaded(Addr address, UInt size, Bool swaps);
/* It has stored to mapped memory. */
void pc_spins_stored(Addr address, UInt size);

/* Blocks that Valgrind counts as executed and that were not. */
extern ULong pc_spins_skipped;

#endif

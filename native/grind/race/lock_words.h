/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Locks that are words of mapped files: told by the program (pc_sync_var of powercut.h), or known by how
 * threads use them. */
#ifndef POWERCUT_GRIND_RACE_LOCK_WORDS_H
#define POWERCUT_GRIND_RACE_LOCK_WORDS_H

#include "ranges.h"
#include "records.h"

/* The running thread is about to swap what is at the address. */
void pc_lock_word_swaps(Addr address, UInt size);
/* It has stored [from, to), which lies in the range. */
void pc_lock_word_stored(UInt kind, Addr pc, const struct pc_range *range, Addr from, Addr to);
/* The program says that these bytes are a lock, and what they are when it is free. */
void pc_lock_word_told(Addr pc, Addr address, SizeT size, ULong initial);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board (board.h), as the tool uses it. */
#ifndef POWERCUT_GRIND_RACE_BOARD_ACCESS_H
#define POWERCUT_GRIND_RACE_BOARD_ACCESS_H

#include "board.h"
#include "core.h"

/* Whether the tool is in race mode. */
extern Bool pc_race;
/* Plan and results; the results of a process that does not own the board are its own affair. Valid in race
 * mode, after pc_board_open. */
extern struct pc_board *pc_board;

/* Takes --race=N; False: another option. */
Bool pc_board_option(const HChar *argument);
/* Maps the board. Ends the process if it is none. */
void pc_board_open(void);
/* The process has mapped a file of the data folder: the board is its, if nobody had it before. */
void pc_board_claim(void);
/* In a forked child: what it does is not told. */
void pc_board_forked(void);

static inline Bool pc_board_wants(enum pc_board_flag flag) {
    return pc_race && (pc_board->plan.flags & flag) != 0;
}

/* Sets a bit; True if it was not set. */
static inline Bool pc_board_set(UChar *bitmap, ULong hash) {
    ULong bit = hash % (PC_BOARD_BITMAP * 8ull);
    UChar mask = (UChar)(1 << (bit & 7));
    Bool fresh = (bitmap[bit >> 3] & mask) == 0;
    bitmap[bit >> 3] |= mask;
    return fresh;
}

/* Mixes a number into a hash. */
static inline ULong pc_mix(ULong hash, ULong number) {
    hash = (hash ^ number) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

#endif

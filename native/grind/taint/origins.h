/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mode in which labels are where data in files comes from (board.h). */
#ifndef POWERCUT_GRIND_TAINT_ORIGINS_H
#define POWERCUT_GRIND_TAINT_ORIGINS_H

#include "board.h"
#include "core.h"

/* Takes --labels=N; False: another option. */
Bool pc_origins_option(const HChar *argument);
/* Before the program starts: if there is a board, the mode is on. */
void pc_origins_open(void);

/* The board's ranges that end behind a place: the first one of them; *end is behind the last of all. */
struct pc_label_range *pc_origins_ranges(ULong inode, ULong offset, struct pc_label_range **end);

/* The board, if this process owns it; else NULL. */
extern struct pc_labels_board *pc_origins_board;
struct pc_label_thread *pc_origins_thread(ThreadId tid);

#endif

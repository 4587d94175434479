/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mode in which the labels board only learns which of its ranges the program touches. */
#ifndef POWERCUT_GRIND_TAINT_TOUCHES_H
#define POWERCUT_GRIND_TAINT_TOUCHES_H

#include "board.h"
#include "core.h"

void pc_touches_start(struct pc_labels_board *board);

/* The instruction at `pc` has stored there. Nothing happens in other modes. */
void pc_touches_stored(Addr pc, Addr address, SizeT size);

/* The program begins its recovery, or ends it. */
void pc_touches_recovery(Bool begins);

#endif

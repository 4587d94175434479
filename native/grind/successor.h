/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a block goes next that goes to an address in a register or in memory. */
#ifndef POWERCUT_GRIND_SUCCESSOR_H
#define POWERCUT_GRIND_SUCCESSOR_H

#include "core.h"

/* At the end of a block that the thread is about to run. */
void pc_successor(const IRSB *in, IRSB *out, ThreadId tid);

#endif

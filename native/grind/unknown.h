/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the user of an instruction that Valgrind cannot run. */
#ifndef POWERCUT_GRIND_UNKNOWN_H
#define POWERCUT_GRIND_UNKNOWN_H

#include "core.h"

/* At the end of a block: the instruction at `pc` will be answered with SIGILL. */
void pc_instrument_unknown(IRSB *block, Addr pc);

#endif

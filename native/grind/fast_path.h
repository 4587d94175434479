/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fast path: code of blocks as long as they touch nothing of interest (versions.h). */
#ifndef POWERCUT_GRIND_FAST_PATH_H
#define POWERCUT_GRIND_FAST_PATH_H

#include "core.h"

/* Whether a block can be left before each of its accesses, as if the instruction had not begun. */
Bool pc_fast_path_can_be(const IRSB *in);

/* Before a statement of the instruction at `pc`: if it may touch something of interest, the
 * instrumented version takes over at the instruction. */
void pc_fast_path_before(const IRSB *in, Int index, IRSB *out, Addr pc);

#endif

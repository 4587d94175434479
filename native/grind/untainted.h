/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code of blocks while no register is tainted, which does not follow labels (versions.h): what it does at
 * loads and stores. */
#ifndef POWERCUT_GRIND_UNTAINTED_H
#define POWERCUT_GRIND_UNTAINTED_H

#include "records.h"
#include "taint/taint.h"

/* Whether a block can be left before each of its loads, as if the instruction had not begun. */
Bool pc_untainted_can_be(const IRSB *in);

/* Before a statement: if it brings labels, the other version takes over at its instruction. */
void pc_untainted_before(struct pc_taint_pass *pass, Int index, Addr pc, Bool locked);
/* After a store, instead of pc_on_store; made if the condition holds (NULL: always). */
void pc_untainted_stored(struct pc_taint_pass *pass, pc_site site, IRExpr *address, IRExpr *condition);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code for what loads and stores do to labels. */
#ifndef POWERCUT_GRIND_TAINT_ACCESS_H
#define POWERCUT_GRIND_TAINT_ACCESS_H

#include "shades.h"

/* The shade of what is loaded; none, if the condition (NULL: always) does not hold. */
struct pc_shade pc_access_load(struct pc_taint_pass *pass, IRExpr *address, IRType type, IRExpr *condition);
void pc_access_store(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_shade *value,
                     IRExpr *condition);

/* The same for memory of any size, as Valgrind's helpers read and write it. */
struct pc_lane pc_access_read(struct pc_taint_pass *pass, IRExpr *address, UInt size, IRExpr *condition);
void pc_access_write(struct pc_taint_pass *pass, IRExpr *address, UInt size, const struct pc_lane *value,
                     IRExpr *condition);

/* In a helper: the labels that a mode gives to what the instruction at hand loads there. */
pc_labels pc_access_source(Addr address, UInt size);

#endif

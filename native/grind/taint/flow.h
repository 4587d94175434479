/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How labels flow through expressions. */
#ifndef POWERCUT_GRIND_TAINT_FLOW_H
#define POWERCUT_GRIND_TAINT_FLOW_H

#include "shades.h"

/* The shade of a constant or a temporary, and that of any expression but a load. */
struct pc_shade pc_flow_atom(const struct pc_taint_pass *pass, const IRExpr *atom);
struct pc_shade pc_flow(struct pc_taint_pass *pass, const IRExpr *expression);
/* What all the operands have. */
struct pc_lane pc_flow_all(struct pc_taint_pass *pass, IRExpr *const *operands, UInt count);
struct pc_shade pc_flow_chosen(struct pc_taint_pass *pass, const IRExpr *condition,
                               const struct pc_shade *yes, const struct pc_shade *no);

#endif

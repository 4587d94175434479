/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations on wide values that keep lanes apart. */
#ifndef POWERCUT_GRIND_TAINT_LANES_H
#define POWERCUT_GRIND_TAINT_LANES_H

#include "shades.h"

/* False: the operation is not one of these. */
Bool pc_lanes_unary(IROp op, const struct pc_shade *operand, struct pc_shade *result);
Bool pc_lanes_binary(struct pc_taint_pass *pass, IROp op, const struct pc_shade *a, const struct pc_shade *b,
                     struct pc_shade *result);
/* Of four words, the highest first. */
struct pc_shade pc_lanes_gathered(const struct pc_taint_pass *pass, IRExpr *const *operands);

#endif

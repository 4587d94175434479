/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores of which only some bytes count. */
#ifndef POWERCUT_GRIND_MASKS_H
#define POWERCUT_GRIND_MASKS_H

#include "core.h"

/* The mask of a store of 16 (wide) or 8 bytes; NULL: all of them count. */
IRExpr *pc_mask_of(const IRSB *in, const IRExpr *data, Bool wide);

#endif

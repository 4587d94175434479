/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filter in front of each access: whether it must be looked at. One question for all accesses of a block
 * that are near each other, as those to one stack frame or one object are. */
#ifndef POWERCUT_GRIND_ACCESS_FILTER_H
#define POWERCUT_GRIND_ACCESS_FILTER_H

#include "core.h"

/* A block begins. */
void pc_access_filter_begin(const IRSB *in);
/* Other threads may run here: answers may be others behind it. */
void pc_access_filter_forget(void);

/* Whether a range may be at the address. */
IRExpr *pc_access_filter_mapped(IRSB *out, IRExpr *address);
/* Whether labels or a range may be there; only for code that makes no labels itself. */
IRExpr *pc_access_filter_labelled(IRSB *out, IRExpr *address);
/* One of these for a block that is left if the answer is yes; NULL: the answer is known, it is no. */
IRExpr *pc_access_filter_once(IRSB *out, IRExpr *address, Bool labels);
/* Not 0 if they may be there now. */
IRExpr *pc_labelled_entry(IRSB *out, IRExpr *address);

#endif

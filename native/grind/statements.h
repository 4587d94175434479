/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What statements of flat code load and store. */
#ifndef POWERCUT_GRIND_STATEMENTS_H
#define POWERCUT_GRIND_STATEMENTS_H

#include "core.h"

/* Bytes of memory that a statement works with. */
struct pc_operand_bytes {
    IRExpr *address; /* NULL: none */
    IRExpr *guard;   /* NULL: always */
    UInt size;
};

/* What the statement loads after which its value is known. */
struct pc_operand_bytes pc_loaded_by(const IRSB *in, Int index);
/* What it loads and then stores, or gives to a helper. */
struct pc_operand_bytes pc_used_by(const IRSB *in, Int index);
/* What it stores itself, without a helper. */
struct pc_operand_bytes pc_stored_by(const IRSB *in, Int index);

/* Whether it does something, as part of the instruction at `pc`, that must not happen twice. */
Bool pc_statement_acts(const IRSB *in, Int index, Addr pc);

#endif

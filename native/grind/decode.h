/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Valgrind's intermediate code does not tell, read from the instruction's bytes. */
#ifndef POWERCUT_GRIND_DECODE_H
#define POWERCUT_GRIND_DECODE_H

#include "core.h"
#include "trace_format.h"

/* How an instruction names a memory operand; register numbers as in its encoding, -1: none. */
struct pc_operand {
    Int base, index;
    UInt scale; /* a shift */
    Long displacement;
    HChar segment;  /* 'f', 'g', 0: none */
    Bool relative;  /* to the next instruction */
    Bool truncated; /* to 32 bits */
};

struct pc_instruction {
    UInt flush; /* enum pc_flush, 0: no flush */
    UInt fence; /* enum pc_fence, 0: no fence; not set for locked operations */
    Bool nontemporal;
    Bool locked;               /* has a lock prefix or is an exchange with memory */
    Bool undefined;            /* ud2 and its kin: meant to be illegal */
    UInt length;               /* flushes only: the others' is known */
    struct pc_operand operand; /* flushes only */
};

/* `bytes` can be read as far as the instruction reaches. */
void pc_decode(const UChar *bytes, struct pc_instruction *out);

#endif

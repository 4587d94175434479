/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ids of call stacks, without unwinding each time. */
#ifndef POWERCUT_GRIND_STACKS_H
#define POWERCUT_GRIND_STACKS_H

#include "core.h"

void pc_stacks_init(void);

/* Takes --stacks=yes|no; False: another option. */
Bool pc_stacks_option(const HChar *argument);

/* The PC_TABLE_STACK id of the running thread's stack, if it is at the instruction at `pc`; 0: none. */
UInt pc_stack(Addr pc);

#endif

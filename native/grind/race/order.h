/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What orders threads, as ORDER records. */
#ifndef POWERCUT_GRIND_RACE_ORDER_H
#define POWERCUT_GRIND_RACE_ORDER_H

#include "records.h"
#include "sites.h"

/* A record of the running thread, at the instruction at `pc`; `value`: an address, for JOIN a thread's id. */
void pc_order(UInt what, Addr pc, ULong value);
/* The same with a stack that is known already. */
void pc_order_at(UInt what, UInt stack, ULong value);

/* A thread has started: its pthread_t and the kernel's id. */
void pc_order_thread(Addr handle, Int id);

/* Whether a function whose calls order threads begins at the address. */
Bool pc_order_is_entry(Addr pc);
/* What is emitted at the start of a block at such an address, and at the end of one that returns. */
void pc_order_emit_entry(IRSB *out, Addr pc);
void pc_order_emit_return(IRSB *out, Addr pc);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which thread runs, and what the tracer is told of each. Valgrind runs one at a time. */
#ifndef POWERCUT_GRIND_THREADS_H
#define POWERCUT_GRIND_THREADS_H

#include "channel.h"
#include "core.h"

extern ThreadId pc_running;
/* Whether the running thread has stored or flushed anything since its last fence. Generated code looks at it.
 */
extern UInt pc_pending;

void pc_threads_init(void);

/* From now on, what happens is of this thread. */
void pc_thread_runs(ThreadId tid);
/* The kernel's id of the running thread, and its registers as far as Valgrind keeps them in memory. */
extern Int pc_thread_id;
extern const VexGuestAMD64State *pc_guest;

/* Called from the first code that runs, with the state of its thread: where that is, Valgrind does not say.
 */
void pc_thread_found(const VexGuestAMD64State *guest);
extern Bool pc_thread_known; /* that has happened */

/* In a forked child, whose page is new: only this thread lives on. */
void pc_thread_forked(ThreadId tid);

/* Fills in the registers of the running thread in its slot of the page. `rip`: see channel.h. */
void pc_thread_tell(Addr rip);

/* Says whose system calls follow, the program's own (1) or Valgrind's (0); what was said before. */
Int pc_in_call(Int own);

#endif

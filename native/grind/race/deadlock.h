/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Deadlocks and the time limit: ends programs that would never end, and tells where threads are when a
 * program ends against its will. */
#ifndef POWERCUT_GRIND_RACE_DEADLOCK_H
#define POWERCUT_GRIND_RACE_DEADLOCK_H

#include "core.h"

/* The clock of the plan's limit starts. */
void pc_deadlock_start(void);
/* The running thread is about to make a call, which thread_states.h has been told of: is it the last one to
 * sleep? */
void pc_deadlock_before_call(void);
/* Nothing has got on for long, and the running thread spins: do all others spin or sleep? */
void pc_deadlock_if_all_spin(void);
/* The running thread begins a turn: is the time over? */
void pc_deadlock_look_at_clock(void);
/* A mapped line was flushed: the program gets on. That it stores is no sign of it: who waits for a lock in
 * persistent memory may store again and again. */
void pc_deadlock_flushed(void);
/* A signal that comes to the thread kills the process. */
void pc_deadlock_killed(ThreadId tid);
/* The process ends: if not by a call of its own, a signal kills it. */
void pc_deadlock_at_end(void);

#endif

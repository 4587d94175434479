/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who has the next turn, whoever the kernel wakes first. */
#ifndef POWERCUT_GRIND_RACE_TURNSTILE_H
#define POWERCUT_GRIND_RACE_TURNSTILE_H

#include "thread_states.h"

/* The thread wants another turn, after all who want one already; or none until it says so. */
void pc_turnstile_queue(struct pc_thread_state *thread);
void pc_turnstile_leave(struct pc_thread_state *thread);
/* It is about to make a call, whose arguments these are: it may sleep, or wake others. */
void pc_turnstile_before_call(struct pc_thread_state *thread, UInt number, const UWord *args);
/* It ends, and wakes who waits for that. */
void pc_turnstile_ends(struct pc_thread_state *thread);
/* Whether nobody who wants a turn comes before it. */
Bool pc_turnstile_is_next(const struct pc_thread_state *thread);
/* Those before it do not come: they have lost their places. */
void pc_turnstile_pass(const struct pc_thread_state *thread);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which turn a thread has that comes back from a call that may take long. */
#ifndef POWERCUT_GRIND_RACE_ARRIVALS_H
#define POWERCUT_GRIND_RACE_ARRIVALS_H

#include "thread_states.h"

/* The thread has come back, and has this turn. */
void pc_arrivals_came(const struct pc_thread_state *thread, ULong turn);
/* Whether the thread may have this turn: nobody else is expected then, nor is it expected later. */
Bool pc_arrivals_fit(const struct pc_thread_state *thread, ULong turn);
/* Who is expected does not come, or came in vain. */
void pc_arrivals_give_up(void);

#endif

/* Calls that change the data folder run one at a time, so that the order of events is the order of effects.
 *
 * A thread that wants to do such a call while another is in one waits, stopped at the call's entry. No wait
 * lasts longer than a limit: a call that does not return gives up its turn and goes on beside the others. */
#ifndef POWERCUT_TURNS_H
#define POWERCUT_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include "thread.h"

/* Zeroed: nobody has the turn, nobody waits. */
struct pc_turns {
    struct pc_thread *holder;
    uint64_t since; /* milliseconds */
    struct pc_thread *first, *last;
};

uint64_t pc_now(void); /* milliseconds of a steady clock */

/* Takes the turn if it is free. */
bool pc_turns_take(struct pc_turns *turns, struct pc_thread *thread);
/* Gives the turn back, if the thread has it. */
void pc_turns_release(struct pc_turns *turns, const struct pc_thread *thread);
void pc_turns_wait(struct pc_turns *turns, struct pc_thread *thread);
/* The thread that has waited longest, if the turn is free; it waits no more. */
struct pc_thread *pc_turns_pop(struct pc_turns *turns);
/* Forgets a thread that waits. */
void pc_turns_leave(struct pc_turns *turns, struct pc_thread *thread);
/* Takes the turn away from a holder that has had it too long while others wait. */
void pc_turns_expire(struct pc_turns *turns);

#endif

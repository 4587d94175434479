/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: threads come back from calls that take as long as the world likes: reading from a client, opening a
 * file. After: the board says in which turn each of them came. Where the plan says so, they have the same
 * turns again: who comes sooner waits, and who is expected is waited for.
 *
 * Turns are counted the same way in each run as long as nothing else differs (turnstile.c). Where it does,
 * what the plan expects may never come. Then it is forgotten: threads run as they come.
 */
#include "arrivals.h"

static UInt next;     /* of those that are expected */
static Bool given_up; /* nobody is */

void pc_arrivals_came(const struct pc_thread_state *thread, ULong turn) {
    UInt count = pc_board->came_count;
    if (next < pc_board->plan.expected_count && pc_board->expected[next].turn == turn)
        next++;
    if (count >= PC_BOARD_ARRIVALS)
        return;
    pc_board->came[count] = (struct pc_board_arrival){.thread = thread->index, .turn = (UInt)turn};
    pc_board->came_count = count + 1;
}

Bool pc_arrivals_fit(const struct pc_thread_state *thread, ULong turn) {
    if (given_up || next >= pc_board->plan.expected_count)
        return True;
    const struct pc_board_arrival *expected = &pc_board->expected[next];
    if (expected->turn < turn) {
        pc_arrivals_give_up();
        return True;
    }
    Bool is_due = expected->turn == turn;
    return thread->arrives ? is_due && expected->thread == thread->index : !is_due;
}

void pc_arrivals_give_up(void) {
    given_up = True;
}

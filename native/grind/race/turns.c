/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a thread is about to flush, or, in the mode of random delays, to load or store. After: others have
 * run, if the seed says so, or if a writer waits for what they do (schedule.c): then they run from flush to
 * flush, so that what one of them has made of the store is there before the next one goes on.
 *
 * Each thread has lots of its own, so that they do not depend on how threads run.
 */
#include "turns.h"

#include "ranges.h"
#include "thread_states.h"

#define ONE_IN 4u  /* flushes before which others have a turn, if nobody waits; */
#define FEWER  16u /* after each of so many lots, less often: long runs need not take much longer */

static ULong next_lot(void) {
    struct pc_thread_state *self = pc_self();
    return pc_mix(pc_mix(pc_board->plan.seed, self->index), self->lots++);
}

void pc_turns_at_flush(Bool wanted) {
    if (pc_thread_states_living() < 2)
        return;
    if (next_lot() % (ONE_IN + pc_self()->lots / FEWER) == 0 || wanted) {
        UInt parts = pc_parts; /* generated code has things under way that another thread would overwrite */
        pc_thread_states_pause();
        pc_parts = parts;
    }
}

static Bool is_mapped(Addr address) {
    const struct pc_range *range = pc_range_from(address);
    return range != NULL && range->start <= address;
}

void pc_turns_delay(pc_site site, Addr address) {
    const struct pc_board_plan *plan = &pc_board->plan;
    if (plan->delay_us == 0 || !is_mapped(address) || pc_thread_states_living() < 2)
        return;
    if (plan->delay_one_in > 1 && next_lot() % plan->delay_one_in != 0)
        return;
    UInt parts = pc_parts;
    pc_board->delays++;
    pc_thread_states_nap((UInt)(next_lot() % plan->delay_us) + 1);
    pc_parts = parts;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a thread waits, and lets the others run, round after round. After: it is known when that is enough:
 * after so many rounds or blocks of code; or when the others wait, too, and do nothing but look whether they
 * may go on. These are the same in each run. The clock is only for waits that are too long for a person.
 */
#include "wait_limit.h"

#define LONGEST     10000000u /* blocks, in which there may be few rounds */
#define IDLE_ROUNDS 6u        /* in a row: then the others wait, too */
#define FEW_BLOCKS  5000u     /* a round with no more blocks, no flush and no new thread is an idle one */

static ULong flushes; /* of all threads */

void pc_wait_limit_flushed(void) {
    flushes++;
}

struct pc_wait_limit pc_wait_limit(UInt rounds, UInt milliseconds) {
    return (struct pc_wait_limit){.rounds = rounds,
                                  .until = VG_(read_millisecond_timer)() + milliseconds,
                                  .blocks = pc_executed_blocks + LONGEST,
                                  .last = pc_executed_blocks,
                                  .flushes = flushes,
                                  .threads = pc_board->threads};
}

Bool pc_wait_limit_reached(struct pc_wait_limit *left, enum pc_round round) {
    Bool idle = left->flushes == flushes && left->threads == pc_board->threads &&
                pc_executed_blocks - left->last < FEW_BLOCKS;
    left->idle = idle ? left->idle + (round == PC_ROUND_RUN) : 0;
    left->flushes = flushes;
    left->threads = pc_board->threads;
    left->last = pc_executed_blocks;
    left->rounds -= round == PC_ROUND_RUN;
    return left->rounds == 0 || left->idle >= IDLE_ROUNDS || pc_executed_blocks >= left->blocks ||
           VG_(read_millisecond_timer)() >= left->until;
}

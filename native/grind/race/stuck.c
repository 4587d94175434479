/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every thread but one sleeps until another one wakes it, and that one is about to; or the plan's
 * time is over. After: the board says so, a STUCK record of each thread tells where it is, and the process is
 * gone.
 *
 * The call itself waits for the answer: it would only sleep. A wake-up in the meantime changes the word, or
 * the program could miss it on any machine.
 *
 * Only sleep counts that nobody outside of the process ends: at a private futex, or waiting for a thread to
 * end. crew.c says how threads that were woken but have not run yet are told from those that sleep.
 */
#include "stuck.h"

#include "crew.h"
#include "order.h"
#include "threads.h"

#define QUICK_ROUNDS 50u   /* in which a thread that is neither asleep nor running most often decides */
#define NAP          2000u /* microseconds, from then on */

static UInt start;

void pc_stuck_start(void) {
    start = VG_(read_millisecond_timer)();
}

static void __attribute__((noreturn)) end_all(enum pc_board_stop why) {
    pc_board->stop = why;
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        if (pc_crew[tid].index == 0 || pc_crew[tid].id == 0)
            continue;
        pc_thread_runs(tid);
        pc_order(PC_ORDER_STUCK, VG_(get_IP)(tid) - 1, pc_crew[tid].call >= 0 ? pc_crew[tid].futex : 0);
    }
    for (;;)
        VG_(kill)(VG_(getpid)(), VKI_SIGKILL);
}

static Bool all_at_futexes(void) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++)
        if (pc_crew[tid].index != 0 && (pc_crew[tid].call != __NR_futex || pc_crew[tid].futex == 0))
            return False;
    return True;
}

void pc_stuck_before_call(const UWord *args) {
    const volatile UInt *word = (const volatile UInt *)pc_self()->futex;
    if (pc_self()->call != __NR_futex || word == NULL || !all_at_futexes())
        return;
    for (UInt rounds = 0; *word == (UInt)args[2]; rounds++) {
        enum pc_round round = pc_crew_let_run();
        if (round == PC_ROUND_RUN || !all_at_futexes())
            return;
        if (round == PC_ROUND_DEAD)
            end_all(PC_BOARD_DEADLOCK);
        if (rounds > QUICK_ROUNDS)
            pc_crew_nap(NAP);
    }
}

void pc_stuck_look_at_clock(void) {
    UInt limit = pc_board->plan.run_ms;
    if (limit != 0 && VG_(read_millisecond_timer)() - start > limit)
        end_all(PC_BOARD_TIMEOUT);
}

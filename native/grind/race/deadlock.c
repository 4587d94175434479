/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every thread but one sleeps until another one wakes it, and that one is about to; or all that do
 * not sleep spin; or the plan's time is over. After: the board says so, a STUCK record of each thread tells
 * where it is, and the process is gone. Where a signal kills the process, a STUCK record tells where it came
 * to.
 *
 * The call itself waits for the answer: it would only sleep. A wake-up in the meantime changes the word, or
 * the program could miss it on any machine.
 *
 * Only sleep counts that nobody outside of the process ends: at a private futex, or waiting for a thread to
 * end. thread_states.c says how threads that were woken but have not run yet are told from those that sleep.
 * Threads of a server that wait for clients are not told, unless all do: they hold nobody up.
 */
#include "deadlock.h"

#include "order.h"
#include "spins.h"
#include "thread_states.h"
#include "threads.h"
#include "versions.h"

#define QUICK_ROUNDS 50u   /* in which a thread that is neither asleep nor running most often decides */
#define NAP          2000u /* microseconds, from then on */

#define FILE_TYPE 0170000u /* of a file's mode */
#define SOCKET    0140000u

static UInt start;      /* milliseconds */
static UInt got_on;     /* when flushes were last seen */
static Bool flushed;    /* since then */
static Bool has_ended;  /* by a call of its own, or where that was told */
static ThreadId sender; /* of a signal, until its next turn */

void pc_deadlock_start(void) {
    start = got_on = VG_(read_millisecond_timer)();
}

static Bool lives(const struct pc_thread_state *thread) {
    return thread->index != 0 && thread->id != 0;
}

static Bool waits_for_clients(const struct pc_thread_state *thread) {
    struct vg_stat status;
    switch (thread->call) {
    case __NR_accept:
    case __NR_accept4:
    case __NR_epoll_wait:
    case __NR_epoll_pwait:
    case __NR_poll:
    case __NR_ppoll:
    case __NR_select:
    case __NR_pselect6:
    case __NR_recvfrom:
    case __NR_recvmsg:
        return True;
    case __NR_read:
        return VG_(fstat)(thread->descriptor, &status) == 0 && (status.mode & FILE_TYPE) == SOCKET;
    default:
        return False;
    }
}

static Bool all_wait_for_clients(void) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++)
        if (lives(&pc_thread_states[tid]) && !waits_for_clients(&pc_thread_states[tid]))
            return False;
    return True;
}

static void __attribute__((noreturn)) end_all(enum pc_board_stop why) {
    Bool all = all_wait_for_clients();
    pc_board->stop = why;
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        if (!lives(&pc_thread_states[tid]) || (!all && waits_for_clients(&pc_thread_states[tid])))
            continue;
        pc_thread_runs(tid);
        if (why == PC_BOARD_DEADLOCK && pc_spins_for_ever(tid))
            pc_spins_tell(tid);
        else
            pc_order(PC_ORDER_STUCK, pc_versions_address(VG_(get_IP)(tid)) - 1,
                     pc_thread_states[tid].call >= 0 ? pc_thread_states[tid].futex : 0);
    }
    for (;;)
        VG_(kill)(VG_(getpid)(), VKI_SIGKILL);
}

static Bool all_at_futexes(void) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++)
        if (pc_thread_states[tid].index != 0 && !pc_thread_waits_for_others(&pc_thread_states[tid]))
            return False;
    return True;
}

/* Whether a thread that looks, too, would go on: what it waits for has happened meanwhile. */
static Bool somebody_goes_on(void) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        const struct pc_thread_state *thread = &pc_thread_states[tid];
        if (thread->index != 0 && thread->looking &&
            *(const volatile UInt *)thread->futex != thread->expected)
            return True;
    }
    return False;
}

/* Until another thread runs, or what this one waits for has happened. */
static void look(const struct pc_thread_state *self) {
    for (UInt rounds = 0; *(const volatile UInt *)self->futex == self->expected; rounds++) {
        enum pc_round round = pc_thread_states_let_run();
        if (round == PC_ROUND_RUN || !all_at_futexes())
            return;
        if (round == PC_ROUND_DEAD && !somebody_goes_on())
            end_all(PC_BOARD_DEADLOCK);
        if (rounds > QUICK_ROUNDS)
            pc_thread_states_nap(NAP);
    }
}

void pc_deadlock_before_call(void) {
    struct pc_thread_state *self = pc_self();
    has_ended |= self->call == __NR_exit_group;
    sender = self->call == __NR_tgkill ? pc_running : sender;
    if (self->futex == 0 || !all_at_futexes())
        return;
    self->looking = True;
    look(self);
    self->looking = False;
}

void pc_deadlock_if_all_spin(void) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        const struct pc_thread_state *thread = &pc_thread_states[tid];
        if (thread->index != 0 && !pc_thread_waits_for_others(thread) &&
            (thread->waiting || !pc_spins_for_ever(tid)))
            return;
    }
    end_all(PC_BOARD_DEADLOCK);
}

static void look_at_clock(void) {
    UInt limit = pc_board->plan.run_ms, now = VG_(read_millisecond_timer)();
    got_on = flushed ? now : got_on;
    flushed = False;
    if (limit != 0 && now - start > limit)
        end_all(now - got_on > limit / 2 ? PC_BOARD_TIMEOUT : PC_BOARD_SLOW);
}

void pc_deadlock_look_at_clock(void) {
    sender = sender == pc_running ? VG_INVALID_THREADID : sender;
    look_at_clock();
}

void pc_deadlock_flushed(void) {
    flushed = True;
    pc_spins_got_on();
}

/* Told at once: while the others end, they may still run. Who sent the signal, as abort does, is more to
 * blame than whom it came to. Where all threads sleep, some of them in calls of the world, nobody has looked
 * at the clock: then the signal may just say that the time is over. */
void pc_deadlock_killed(ThreadId tid) {
    ThreadId last = sender != VG_INVALID_THREADID ? sender : tid;
    if (has_ended)
        return;
    if (tid < PC_CHANNEL_SLOTS && pc_thread_states[tid].call < 0)
        pc_thread_states[tid].call = pc_thread_states[tid].last_call; /* which the signal has interrupted */
    look_at_clock();
    has_ended = True;
    pc_thread_runs(last);
    pc_order(PC_ORDER_STUCK, pc_versions_address(VG_(get_IP)(last)), 0);
}

/* A signal that Valgrind cannot see to the end: it came to the one whose turn it was. */
void pc_deadlock_at_end(void) {
    if (!has_ended && pc_thread_states_last() != VG_INVALID_THREADID)
        pc_deadlock_killed(pc_thread_states_last());
}

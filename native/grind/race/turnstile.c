/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: threads want turns: they are new, have used up a turn, were woken by another one, or are back from
 * a call that takes no time. After: each has a place in one queue, given at a moment that is the same in each
 * run: when its thread, or the one that wakes it, still has Valgrind's lock.
 *
 * The lock goes to whoever asks first. After a call that wakes several threads (the readers of a lock, all
 * who wait at a condition or a barrier), and between who wakes and who is woken, that depends on the kernel.
 * So who gets the lock looks here whether it is the next one, and gives it back if not.
 *
 * The kernel wakes those first who slept first. A thread in a call that may take long has no place: when it
 * is back, it has its turn when it gets the lock, or when the plan says (arrivals.c).
 */
#include "turnstile.h"

#define COMMANDS    0x7fu
#define WAIT        0u
#define WAKE        1u
#define WAIT_BITSET 9u
#define WAKE_BITSET 10u
#define NONE        (~0u)

static ULong places; /* that were given, */
static ULong sleeps; /* and how often a thread went to sleep */

void pc_turnstile_queue(struct pc_thread_state *thread) {
    thread->place_in_queue = ++places;
    thread->arrives = False;
}

void pc_turnstile_leave(struct pc_thread_state *thread) {
    thread->place_in_queue = 0;
}

/* The one of those who sleep there that went to sleep first; NULL: none. */
static struct pc_thread_state *first_asleep(Addr futex) {
    struct pc_thread_state *first = NULL;
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        struct pc_thread_state *thread = &pc_thread_states[tid];
        if (thread->index != 0 && thread->sleeps_at == futex && futex != 0 &&
            (first == NULL || thread->asleep_since < first->asleep_since))
            first = thread;
    }
    return first;
}

static void wake(struct pc_thread_state *thread) {
    thread->sleeps_at = 0;
    thread->settled = False;
    pc_turnstile_queue(thread);
}

static void sleep_at(struct pc_thread_state *thread, Addr futex, UInt expected) {
    if (*(const volatile UInt *)futex != expected) { /* it will not sleep */
        pc_turnstile_queue(thread);
        return;
    }
    pc_turnstile_leave(thread);
    thread->arrives = True;
    thread->sleeps_at = futex;
    thread->asleep_since = ++sleeps;
}

void pc_turnstile_before_call(struct pc_thread_state *thread, UInt number, const UWord *args) {
    UInt command = number == __NR_futex ? (UInt)args[1] & COMMANDS : NONE;
    thread->sleeps_at = 0;
    if ((command == WAIT || command == WAIT_BITSET) &&
        VG_(am_is_valid_for_client)(args[0], sizeof(UInt), VKI_PROT_READ)) {
        sleep_at(thread, args[0], (UInt)args[2]);
    } else if (command == WAKE || command == WAKE_BITSET) {
        pc_turnstile_queue(thread);
        for (UWord count = (UInt)args[2]; count > 0 && first_asleep(args[0]) != NULL; count--)
            wake(first_asleep(args[0]));
    } else if (number == __NR_sched_yield) {
        pc_turnstile_queue(thread);
    } else {
        pc_turnstile_leave(thread);
        thread->arrives = True;
    }
}

void pc_turnstile_ends(struct pc_thread_state *thread) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++)
        if (pc_thread_states[tid].index != 0 && pc_thread_states[tid].sleeps_at != 0 &&
            pc_thread_states[tid].joined == thread->id && thread->id != 0)
            wake(&pc_thread_states[tid]);
    pc_turnstile_leave(thread);
}

Bool pc_turnstile_is_next(const struct pc_thread_state *thread) {
    for (ThreadId tid = 1; thread->place_in_queue != 0 && tid < PC_CHANNEL_SLOTS; tid++) {
        const struct pc_thread_state *other = &pc_thread_states[tid];
        if (other->index != 0 && other->place_in_queue != 0 && other->place_in_queue < thread->place_in_queue)
            return False;
    }
    return True;
}

void pc_turnstile_pass(const struct pc_thread_state *thread) {
    for (ThreadId tid = 1; tid < PC_CHANNEL_SLOTS; tid++)
        if (pc_thread_states[tid].place_in_queue < thread->place_in_queue)
            pc_thread_states[tid].place_in_queue = 0;
}

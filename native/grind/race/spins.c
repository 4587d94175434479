/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a thread looks at the same word of a mapped file again and again, finds the same there, and stores
 * nothing else meanwhile: it waits for another one to change it. After: its turn is over.
 *
 * A turn is long, for a thread that gets on. One that spins burns all of it, and under instrumentation that
 * takes a thousand times as long as the holder of the lock would need. Valgrind itself ends the turns of
 * those that execute `pause`; locks of persistent memory rarely do.
 *
 * Only what the thread itself does counts, so that the same plan stays the same order of threads.
 *
 * Where every thread spins so, or sleeps until another one wakes it, and nothing gets on, they wait forever.
 * Such a loop may count its tries and give up, in memory that nobody watches here: so all of them must have
 * looked many times, for a long time.
 */
#include "spins.h"

#include "deadlock.h"
#include "order.h"
#include "stacks.h"
#include "thread_states.h"
#include "threads.h"

#define SWAPS 4u  /* in a row that changed nothing: a lock that is taken */
#define LOADS 64u /* the same of loads, which a loop may make that waits for nobody */
#define WORD  8u

#define MANY_TURNS 200u  /* that ended so, without anything that gets on */
#define LONG       1000u /* milliseconds */

ULong pc_spins_skipped;

/* What each thread looked at last, where in its code that was, and how many of its turns ended so since
 * `progress` was that. */
static struct {
    Addr address;
    ULong value, progress;
    UInt loads, swaps, turns, stack;
} looks[PC_CHANNEL_SLOTS];

static ULong progress;  /* of all threads */
static ULong looked_at; /* the progress since which it is `since`, in milliseconds */
static UInt since;

static ULong value_at(Addr address, UInt size) {
    ULong value = 0;
    VG_(memcpy)(&value, (const void *)address, size < WORD ? size : WORD);
    return value;
}

/* Generated code looks at this counter at the start of each block. */
static void end_turn(void) {
    VexGuestAMD64State *guest = (VexGuestAMD64State *)pc_guest;
    if (guest->host_EvC_COUNTER <= 1)
        return;
    pc_spins_skipped += guest->host_EvC_COUNTER - 1;
    guest->host_EvC_COUNTER = 1;
}

void pc_spins_got_on(void) {
    progress++;
}

Bool pc_spins_for_ever(ThreadId tid) {
    return looks[tid].progress == progress && looks[tid].turns >= MANY_TURNS;
}

void pc_spins_tell(ThreadId tid) {
    pc_order_at(PC_ORDER_STUCK, looks[tid].stack, looks[tid].address);
}

/* A turn ended by spinning. */
static void count_turn(Addr pc) {
    if (looks[pc_running].progress != progress) {
        looks[pc_running].progress = progress;
        looks[pc_running].turns = 0;
    }
    if (++looks[pc_running].turns % MANY_TURNS != 0)
        return;
    looks[pc_running].stack = pc_stack(pc);
    UInt now = VG_(read_millisecond_timer)();
    if (looked_at != progress) {
        looked_at = progress;
        since = now;
    } else if (now - since >= LONG) {
        pc_deadlock_if_all_spin();
    }
}

void pc_spins_loaded(Addr pc, Addr address, UInt size, Bool swaps) {
    if (pc_running >= PC_CHANNEL_SLOTS)
        return;
    ULong value = value_at(address, size);
    if (looks[pc_running].address != address || looks[pc_running].value != value) {
        looks[pc_running].address = address;
        looks[pc_running].value = value;
        looks[pc_running].loads = looks[pc_running].swaps = 0;
    }
    looks[pc_running].loads++;
    looks[pc_running].swaps += swaps;
    if (looks[pc_running].swaps < SWAPS && looks[pc_running].loads < LOADS)
        return;
    looks[pc_running].loads = looks[pc_running].swaps = 0;
    count_turn(pc);
    if (pc_thread_states_living() > 1)
        end_turn();
}

void pc_spins_stored(Addr address, UInt size) {
    if (pc_running >= PC_CHANNEL_SLOTS)
        return;
    if (looks[pc_running].address == address && looks[pc_running].value == value_at(address, size))
        return; /* an exchange that found the lock taken */
    looks[pc_running].address = 0;
    pc_spins_got_on();
}

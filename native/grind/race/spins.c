/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a thread looks at the same word of a mapped file again and again, finds the same there, and stores
 * nothing else meanwhile: it waits for another one to change it. After: its turn is over.
 *
 * A turn is long, for a thread that gets on. One that spins burns all of it, and under instrumentation that
 * takes a thousand times as long as the holder of the lock would need. Valgrind itself ends the turns of
 * those that execute `pause`; locks of persistent memory rarely do.
 *
 * Only what the thread itself does counts, so that the same plan stays the same order of threads.
 */
#include "spins.h"

#include "thread_states.h"
#include "threads.h"

#define SWAPS 4u  /* in a row that changed nothing: a lock that is taken */
#define LOADS 64u /* the same of loads, which a loop may make that waits for nobody */
#define WORD  8u

ULong pc_spins_skipped;

/* What each thread looked at last. */
static struct {
    Addr address;
    ULong value;
    UInt loads, swaps;
} looks[PC_CHANNEL_SLOTS];

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

void pc_spins_loaded(Addr address, UInt size, Bool swaps) {
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
    if (pc_thread_states_living() > 1)
        end_turn();
}

void pc_spins_stored(Addr address, UInt size) {
    if (pc_running >= PC_CHANNEL_SLOTS)
        return;
    if (looks[pc_running].address == address && looks[pc_running].value == value_at(address, size))
        return; /* an exchange that found the lock taken */
    looks[pc_running].address = 0;
}

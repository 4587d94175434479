/* Rings and lanes of a thread: taking them, waiting for room, and recording where the usual way is barred.
 *
 * Before: the thread has a ring (ensure_ring), or nothing is recorded. After: the record is in the first lane
 * that no interrupted call is in the middle of. Everything here may be interrupted by a handler that does the
 * same. */
#define _GNU_SOURCE
#include "put.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_MS = 50, RING_PATIENCE_MS = 200 };
enum { SAVED_REGISTERS = 1024 }; /* at least: of a signal's frame on the stack */

_Thread_local struct self self __attribute__((tls_model("initial-exec")));

/* The checker is dead: nobody will ever take what is recorded. */
static void give_up(void) {
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        dprintf(2, "powercut: the checking process is gone; nothing is checked from now on [checker-gone]\n");
    atomic_store(&session.channel, NULL);
    atomic_fetch_add(&pc_phase, 1);
    self.phase = 0;
    for (unsigned level = 0; level < LANES; level++)
        self.lane[level].records = NULL;
}

/* Until when may records be put without asking? Waits while there is no room for two; false if that is
 * forever. */
static bool make_room(struct channel *channel, struct lane *lane) {
    struct channel_ring *ring = &channel->ring[lane->ring];
    uint64_t quarter = channel->buffer / 4 ? channel->buffer / 4 : 1;
    for (;;) {
        uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
        uint64_t next = lane->next, most = taken + channel->buffer,
                 mark = ((next + 1) / quarter + 1) * quarter;
        if (next + 1 < most) {
            lane->limit = mark < most ? mark : most;
            if (next % quarter == 0)
                bell_ring(&channel->wake);
            return true;
        }
        uint32_t answers = bell_look(&channel->answers);
        bell_ring(&channel->wake);
        if (atomic_load_explicit(&ring->taken, memory_order_acquire) != taken)
            continue;
        bell_wait(&channel->answers, answers, PATIENCE_MS);
        uint32_t checker = atomic_load(&channel->checker);
        if (atomic_load(&channel->done) || (checker && process_is_gone(checker)))
            return false;
    }
}

static void begin_lane(struct channel *channel, struct lane *lane, unsigned number) {
    struct channel_ring *ring = &channel->ring[number];
    lane->ring = number;
    lane->mask = channel->buffer - 1;
    lane->next = lane->limit = atomic_load(&ring->taken);
    lane->around = lane->first = UINT64_MAX;
    atomic_fetch_add(&ring->owner, 1);
    IN_THIS_ORDER();
    lane->records = channel_records(channel, number);
}

bool take_ring(struct channel *channel, struct lane *lane, enum ring_state state) {
    for (unsigned waited = 0; waited < RING_PATIENCE_MS; waited += 5) {
        for (unsigned i = 0; i < CHANNEL_RINGS; i++) {
            uint32_t free = RING_FREE;
            if (!atomic_compare_exchange_strong(&channel->ring[i].state, &free, state))
                continue;
            begin_lane(channel, lane, i);
            uint32_t used = atomic_load(&channel->rings);
            while (used < i + 1 && !atomic_compare_exchange_weak(&channel->rings, &used, i + 1))
                ;
            return true;
        }
        bell_wait(&channel->answers, bell_look(&channel->answers), 5);
    }
    return false;
}

/* Whether the call that is in the middle of a record will never return to it, since a handler jumped out of
 * it (siglongjmp). A handler that it waits for runs on a stack of its own, or further down: the kernel has
 * saved all registers in between, which takes more room than the calls from a macro to here. */
static bool is_abandoned(uintptr_t stack) {
    stack_t other;
    bool on_other = sigaltstack(NULL, &other) == 0 && (other.ss_flags & SS_ONSTACK);
    return !on_other && this_stack() + SAVED_REGISTERS > stack;
}

/* A lane that can be put into, or whose room is to be waited for; NULL: there is none any more. */
static struct lane *free_lane(struct channel *channel) {
    for (unsigned level = 0; level < LANES; level++) {
        struct lane *lane = &self.lane[level];
        if (lane->putting && is_abandoned(lane->putting))
            lane->putting = 0;
        if (lane->putting)
            continue;
        if (!lane->records) {
            struct quiet quiet = hush();
            bool taken = lane->records || take_ring(channel, lane, RING_INNER);
            if (taken)
                atomic_store(&channel->ring[self.lane[0].ring].inner[level - 1], lane->ring + 1);
            unhush(&quiet);
            if (!taken)
                return NULL;
        }
        return lane;
    }
    return NULL;
}

/* An inner lane's records belong into the middle of others: say where, if that is not said yet. False: no
 * room. */
static bool say_where(struct lane *lane) {
    if (lane == self.lane)
        return true;
    uint64_t around = lane[-1].next, first = self.lane[0].next;
    if (lane->around == around && lane->first == first)
        return true;
    if (!put_in(lane, PC_INSIDE, around, (uint32_t)first, SITE_UNKNOWN))
        return false;
    lane->around = around;
    lane->first = first;
    return true;
}

void lose_thread(struct channel *channel, uint32_t site) {
    if (!self.is_lost)
        count_or_add(channel, KIND_TOO_MANY_THREADS, site);
    self.is_lost = true; /* what is missing would make what follows look wrong */
    self.phase = 0;
    atomic_fetch_add(&channel->lost_threads, 1);
}

typedef bool (*put_into)(struct lane *lane, const void *what);

static void put_somewhere(put_into put, const void *what, uint32_t site) {
    for (;;) {
        struct channel *channel = atomic_load(&session.channel);
        if (!channel || !self.lane[0].records || self.is_lost)
            return;
        struct lane *lane = free_lane(channel);
        if (!lane) {
            lose_thread(channel, site);
            return;
        }
        if (say_where(lane) && put(lane, what))
            return;
        if (!lane->putting && !make_room(channel, lane)) {
            give_up();
            return;
        }
    }
}

struct one {
    uint64_t address, size;
    unsigned code;
    uint32_t site;
};

static bool put_one(struct lane *lane, const void *what) {
    const struct one *one = what;
    return put_in(lane, one->code, one->address, one->size, one->site);
}

void put_record(unsigned code, uint64_t address, uint64_t size, uint32_t site) {
    put_somewhere(put_one, &(struct one){address, size, code, site}, site);
}

/* Two records that nothing comes between: the second is there before the checker sees the first. */
static bool put_two(struct lane *lane, const void *what) {
    const struct one *two = what;
    if (lane->putting)
        return false;
    lane->putting = this_stack();
    IN_THIS_ORDER();
    uint64_t next = lane->next;
    bool room = next + 1 < lane->limit;
    if (room) {
        store_record(lane, next + 1, two[1].code, two[1].address, two[1].size, two[1].site);
        store_record(lane, next, two[0].code, two[0].address, two[0].size, two[0].site);
        lane->next = next + 2;
    }
    IN_THIS_ORDER();
    lane->putting = 0;
    return room;
}

void put_order(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size, uint32_t site) {
    struct one two[] = {{a, a_size, PC_FIRST, site}, {b, b_size, PC_IS_ORDERED_BEFORE, site}};
    put_somewhere(put_two, two, site);
}

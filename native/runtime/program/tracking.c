/* Records: two stores into the thread's own ring. Everything that can wait is out of the way of that. */
#define _GNU_SOURCE
#include "put.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { PATIENCE_MS = 50, RING_PATIENCE_MS = 200 };

_Thread_local struct self self __attribute__((tls_model("initial-exec")));
_Atomic uint32_t pc_phase = 1;

/* The checker is dead: nobody will ever take what is recorded. */
static void give_up(void) {
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        dprintf(2, "powercut: the checking process is gone; nothing is checked from now on [checker-gone]\n");
    atomic_store(&session.channel, NULL);
    atomic_fetch_add(&pc_phase, 1);
    self.phase = 0;
    self.records = NULL;
}

/* Until when may records be put without asking? Waits while the ring is full; false if that is forever. */
static bool make_room(struct channel *channel) {
    struct channel_ring *ring = &channel->ring[self.ring];
    uint64_t quarter = channel->buffer / 4 ? channel->buffer / 4 : 1;
    for (;;) {
        uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);
        uint64_t most = taken + channel->buffer, mark = (self.next / quarter + 1) * quarter;
        if (self.next < most) {
            self.limit = mark < most ? mark : most;
            if (self.next % quarter == 0)
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

void put_record(unsigned code, uint64_t address, uint64_t size, uint32_t site) {
    struct channel *channel = atomic_load(&session.channel);
    if (!channel || !self.records)
        return;
    if (self.next == self.limit && !make_room(channel)) {
        give_up();
        return;
    }
    put(code, address, size, site);
}

static bool take_ring(struct channel *channel) {
    for (unsigned waited = 0; waited < RING_PATIENCE_MS; waited += 5) {
        for (unsigned i = 0; i < CHANNEL_RINGS; i++) {
            struct channel_ring *ring = &channel->ring[i];
            uint32_t free = RING_FREE;
            if (!atomic_compare_exchange_strong(&ring->state, &free, RING_TAKEN))
                continue;
            atomic_fetch_add(&channel->threads, 1);
            self.ring = i;
            self.mask = channel->buffer - 1;
            self.next = self.limit = atomic_load(&ring->taken);
            self.records = channel_records(channel, i);
            atomic_fetch_add(&ring->owner, 1);
            uint32_t used = atomic_load(&channel->rings);
            while (used < i + 1 && !atomic_compare_exchange_weak(&channel->rings, &used, i + 1))
                ;
            return true;
        }
        bell_wait(&channel->answers, bell_look(&channel->answers), 5);
    }
    return false;
}

bool ensure_ring(uint32_t site) {
    struct channel *channel = atomic_load(&session.channel);
    if (!channel)
        return false;
    if (self.session != session.number) {
        self = (struct self){.session = session.number, .started = session.every_thread};
        pc_thread_init_();
    }
    if (!self.records && !take_ring(channel)) {
        struct channel_finding finding = {.kind = KIND_TOO_MANY_THREADS, .at = site};
        if (self.phase != UINT32_MAX)
            channel_add_finding(channel, &finding);
        self.phase = UINT32_MAX; /* said once for each thread */
        return false;
    }
    return true;
}

void leave_ring(uint32_t site) {
    if (self.records && self.session == session.number)
        put_record(PC_THREAD_END, 0, 0, site);
    struct channel *channel = atomic_load(&session.channel);
    if (channel)
        bell_ring(&channel->wake);
    self = (struct self){0};
}

void forget_self(void) {
    self = (struct self){0};
}

/* The thread is not tracked, or must catch up first. True: it may record now. */
static __attribute__((noinline)) bool catch_up(struct pc_site *site) {
    int reason = errno;
    bool ready = false;
    uint32_t phase = atomic_load(&pc_phase);
    if (!atomic_load(&session.channel)) {
        if (site)
            complain(KIND_BEFORE_INIT, site);
    } else if (self.session != session.number && !session.every_thread) {
        /* not started in this session */
    } else if ((self.session != session.number || self.started) && ensure_ring(site ? number_of(site) : 0)) {
        tell_ranges();
        self.phase = phase;
        ready = self.records != NULL;
    }
    errno = reason;
    return ready;
}

static __attribute__((noinline)) bool wait_for_room(void) {
    int reason = errno;
    struct channel *channel = atomic_load(&session.channel);
    bool room = channel && make_room(channel);
    if (!room)
        give_up();
    errno = reason;
    return room;
}

void pc_record_(enum pc_operation operation, const volatile void *address, size_t size,
                struct pc_site *site) {
    if (UNLIKELY(self.phase != atomic_load_explicit(&pc_phase, memory_order_relaxed)) &&
        (tell_tracer(operation, address, size) || !catch_up(site)))
        return;
    uint32_t number = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    if (UNLIKELY(number >> 24 != (session.number & 0xff)))
        number = number_of(site);
    if (UNLIKELY(self.next == self.limit) && !wait_for_room())
        return;
    put(operation, (uintptr_t)address, size, number);
}

void pc_record_number_(enum pc_operation operation, const volatile void *address, size_t size,
                       uint32_t site) {
    if (UNLIKELY(self.phase != atomic_load_explicit(&pc_phase, memory_order_relaxed)) && !catch_up(NULL))
        return;
    if (UNLIKELY(self.next == self.limit) && !wait_for_room())
        return;
    put(operation, (uintptr_t)address, size, site);
}

void pc_order_(const volatile void *a, size_t a_size, const volatile void *b, size_t b_size,
               struct pc_site *site) {
    pc_record_(PC_FIRST, a, a_size, site);
    pc_record_(PC_IS_ORDERED_BEFORE, b, b_size, site);
}

int pc_tracking_(void) {
    return self.phase == atomic_load_explicit(&pc_phase, memory_order_relaxed) || catch_up(NULL);
}

void pc_control_(enum pc_operation operation, struct pc_site *site) {
    int reason = errno;
    if (tell_tracer(operation, NULL, 0)) {
        /* it is in the trace */
    } else if (!atomic_load(&session.channel)) {
        complain(KIND_BEFORE_INIT, site);
    } else if (ensure_ring(number_of(site))) {
        bool was_started = self.started;
        if (operation == PC_START)
            self.started = true;
        else if (operation == PC_END)
            self.started = session.every_thread;
        self.phase = self.started && was_started ? self.phase : 0;
        put_record(operation, 0, 0, number_of(site));
    }
    errno = reason;
}

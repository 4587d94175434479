/* Whether and where a thread is recorded. Everything that can wait is out of the way of the record itself. */
#define _GNU_SOURCE
#include "put.h"

#include <errno.h>
#include <unistd.h>

_Atomic uint32_t pc_phase = 1;

/* No handler comes in between: a thread has one ring. */
static bool begin_thread(struct channel *channel) {
    struct quiet quiet = hush();
    if (self.session != session.number) {
        self = (struct self){
            .session = session.number, .pid = (uint32_t)getpid(), .started = session.every_thread};
        pc_thread_init_();
    }
    bool taken = self.lane[0].records || (!self.is_lost && take_ring(channel, &self.lane[0], RING_TAKEN));
    unhush(&quiet);
    return taken;
}

bool ensure_ring(uint32_t site) {
    struct channel *channel = atomic_load(&session.channel);
    if (!channel)
        return false;
    if (self.session == session.number && self.lane[0].records)
        return !self.is_lost;
    if (begin_thread(channel)) {
        atomic_fetch_add(&channel->threads, 1);
        return true;
    }
    if (!self.is_lost)
        lose_thread(channel, site);
    return false;
}

void leave_ring(uint32_t site) {
    struct quiet quiet = hush();
    if (self.lane[0].records && self.session == session.number)
        put_record(PC_THREAD_END, 0, 0, site);
    struct channel *channel = atomic_load(&session.channel);
    if (channel)
        bell_ring(&channel->wake);
    self = (struct self){0};
    unhush(&quiet);
}

void forget_self(void) {
    self = (struct self){0};
}

/* So that the next record need not ask; until the phase changes, or the thread is started (perhaps just now,
 * by a handler). */
static void remember_untracked(uint32_t phase) {
    self.untracked = phase;
    IN_THIS_ORDER();
    if (self.session == session.number && self.started && !self.is_lost)
        self.untracked = 0;
}

/* The thread is not tracked, or must catch up first. True: it may record now. */
static __attribute__((noinline)) bool catch_up(struct pc_site *site) {
    int reason = errno;
    bool ready = false, is_known = self.session == session.number;
    uint32_t phase = atomic_load(&pc_phase);
    if (!atomic_load(&session.channel)) {
        if (site)
            complain(KIND_BEFORE_INIT, site);
    } else if (is_known ? !self.started || self.is_lost : !session.every_thread) {
        remember_untracked(phase);
    } else if (ensure_ring(site ? number_of(site) : 0)) {
        tell_ranges();
        self.phase = phase;
        ready = self.lane[0].records != NULL;
    }
    errno = reason;
    return ready;
}

/* There is no room, or a handler records in the middle of a record. */
static __attribute__((noinline)) void put_slowly(unsigned code, uint64_t address, uint64_t size,
                                                 uint32_t site) {
    int reason = errno;
    put_record(code, address, size, site);
    errno = reason;
}

static inline __attribute__((always_inline)) void record(enum pc_operation operation, uint64_t address,
                                                         size_t size, struct pc_site *site) {
    uint32_t number = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    if (UNLIKELY(number >> 24 != (session.number & 0xff)))
        number = number_of(site);
    if (UNLIKELY(!put(operation, address, size, number)))
        put_slowly(operation, address, size, number);
}

static __attribute__((noinline)) void record_late(enum pc_operation operation, const volatile void *address,
                                                  size_t size, struct pc_site *site, bool complains) {
    if (!tell_tracer(operation, address, size) && catch_up(complains ? site : NULL))
        record(operation, (uintptr_t)address, size, site);
}

void pc_record_(enum pc_operation operation, const volatile void *address, size_t size,
                struct pc_site *site) {
    uint32_t phase = atomic_load_explicit(&pc_phase, memory_order_relaxed);
    if (__builtin_expect(self.phase == phase, 1))
        record(operation, (uintptr_t)address, size, site);
    else if (self.untracked != phase)
        record_late(operation, address, size, site, true);
}

void pc_record_if_tracked_(enum pc_operation operation, const volatile void *address, size_t size,
                           struct pc_site *site) {
    uint32_t phase = atomic_load_explicit(&pc_phase, memory_order_relaxed);
    if (__builtin_expect(self.phase == phase, 1))
        record(operation, (uintptr_t)address, size, site);
    else if (self.untracked != phase)
        record_late(operation, address, size, site, false);
}

void pc_record_number_(enum pc_operation operation, const volatile void *address, size_t size,
                       uint32_t site) {
    if (UNLIKELY(self.phase != atomic_load_explicit(&pc_phase, memory_order_relaxed)) && !catch_up(NULL))
        return;
    if (UNLIKELY(!put(operation, (uintptr_t)address, size, site)))
        put_slowly(operation, (uintptr_t)address, size, site);
}

void pc_order_(const volatile void *a, size_t a_size, const volatile void *b, size_t b_size,
               struct pc_site *site) {
    int reason = errno;
    if (tell_tracer(PC_FIRST, a, a_size))
        tell_tracer(PC_IS_ORDERED_BEFORE, b, b_size);
    else if (self.phase == atomic_load(&pc_phase) || catch_up(site))
        put_order((uintptr_t)a, a_size, (uintptr_t)b, b_size, number_of(site));
    errno = reason;
}

int pc_has_session_(void) {
    return atomic_load(&session.channel) != NULL || is_traced();
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
        self.untracked = 0;
        put_record(operation, 0, 0, number_of(site));
    }
    errno = reason;
}

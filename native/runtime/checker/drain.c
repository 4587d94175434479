/* Workers: each looks for a ring that no other has in hand, checks what is in it, and goes on. The state of a
 * thread stays with its ring, so that its records are checked in their order, whoever does it. */
#define _GNU_SOURCE
#include "drain.h"

#include "../engine/findings.h"
#include "trace_file.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_PAGES =
        1 << 18,     /* of the shadow memory of one thread: a gigabyte of data that is not yet persistent */
    BATCH = 1 << 12, /* records after which a full ring gets its room back */
    NAP_MS = 1,
    SLEEP_MS = 20,
};

struct seat {
    _Atomic bool in_hand;
    struct engine *engine;
    uint64_t next;
};
struct drain {
    struct channel *channel;
    struct findings *findings;
    int ended;
    _Atomic bool over; /* the program has ended: what there is now is all there will be */
    struct trace_file *trace;
    struct seat seat[CHANNEL_RINGS];
};

static const struct model *chosen_model(const struct channel *channel) {
    char name[sizeof channel->model];
    memcpy(name, channel->model, sizeof name);
    name[sizeof name - 1] = 0;
    const struct model *model = model_of(name);
    return model ? model : models[0];
}

struct engine *open_engine(const struct channel *channel, struct findings *findings) {
    return engine_open(chosen_model(channel), findings, findings_new_thread(findings));
}

static bool is_new(const struct drain *drain, uint64_t position, uint64_t word) {
    bool lap = word >> RECORD_LAP_SHIFT & 1;
    return (word & RECORD_OPERATION) && lap == !(position & drain->channel->buffer);
}

/* What is checked, and saved, makes room for more. */
static void give_room_back(struct drain *drain, unsigned number, struct record *records) {
    struct channel_ring *ring = &drain->channel->ring[number];
    uint64_t before = atomic_load_explicit(&ring->taken, memory_order_relaxed),
             next = drain->seat[number].next;
    if (drain->trace && next != before)
        trace_add(drain->trace, number, atomic_load(&ring->owner), records, before, next - before,
                  drain->channel->buffer);
    atomic_store_explicit(&ring->taken, next, memory_order_release);
    bell_ring(&drain->channel->answers);
}

static void end_of_ring(struct drain *drain, unsigned number, struct record *records) {
    engine_close(drain->seat[number].engine);
    drain->seat[number].engine = NULL;
    give_room_back(drain, number, records);
    atomic_store(&drain->channel->ring[number].state, RING_FREE);
}

/* Check what a ring holds; how many records there were. */
static uint64_t drain_ring(struct drain *drain, unsigned number) {
    struct channel *channel = drain->channel;
    struct seat *seat = &drain->seat[number];
    struct record *records = channel_records(channel, number);
    uint32_t request = atomic_load(&channel->request);
    uint64_t before = seat->next;
    if (!seat->engine)
        seat->engine = open_engine(channel, drain->findings);
    while (seat->engine) {
        struct record *record = &records[seat->next & (channel->buffer - 1)];
        uint64_t word = atomic_load_explicit(&record->word, memory_order_acquire);
        if (!is_new(drain, seat->next, word))
            break;
        unsigned code = word & RECORD_OPERATION;
        engine_take(seat->engine, code, (uint32_t)(word >> RECORD_SITE_SHIFT) & RECORD_SITE, record->address,
                    word >> RECORD_SIZE_SHIFT);
        seat->next++;
        if (code == PC_THREAD_END)
            end_of_ring(drain, number, records);
        else if ((seat->next - before) % BATCH == 0)
            give_room_back(drain, number, records);
    }
    if (seat->next != before && seat->engine)
        give_room_back(drain, number, records);
    if (atomic_load(&channel->ring[number].answered) != request) {
        findings_settle(drain->findings);
        atomic_store(&channel->ring[number].answered, request);
        bell_ring(&channel->answers);
    }
    atomic_fetch_add_explicit(&channel->checked, seat->next - before, memory_order_relaxed);
    return seat->next - before;
}

static uint64_t drain_all(struct drain *drain) {
    uint64_t checked = 0;
    uint32_t rings = atomic_load(&drain->channel->rings);
    for (uint32_t i = 0; i < rings && i < CHANNEL_RINGS; i++) {
        struct seat *seat = &drain->seat[i];
        if (atomic_load(&drain->channel->ring[i].state) == RING_FREE || atomic_exchange(&seat->in_hand, true))
            continue;
        checked += drain_ring(drain, i);
        atomic_store(&seat->in_hand, false);
    }
    return checked;
}

static bool has_ended(struct drain *drain) {
    struct pollfd ended = {.fd = drain->ended, .events = POLLIN};
    if (atomic_load(&drain->channel->closing) || poll(&ended, 1, 0) == 1)
        atomic_store(&drain->over, true);
    return atomic_load(&drain->over);
}

/* Little work is left to become more: a thread that fills a quarter of its buffer rings. */
static void *work(void *with) {
    struct drain *drain = with;
    struct bell *bell = &drain->channel->wake;
    for (unsigned idle = 0;;) {
        uint32_t seen = bell_look(bell);
        bool over = has_ended(drain);
        uint64_t checked = drain_all(drain);
        if (over && checked == 0)
            break;
        idle = checked ? 0 : idle + 1;
        if (!over && checked < BATCH)
            bell_wait(bell, seen, idle < 8 ? NAP_MS : SLEEP_MS);
    }
    struct timespec used;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0)
        atomic_fetch_add(&drain->channel->checking_ns,
                         (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec);
    return NULL;
}

int drain(struct channel *channel, int ended, struct trace_file *trace) {
    struct drain *drain = calloc(1, sizeof *drain);
    if (!drain || !(drain->findings = findings_open(channel))) {
        free(drain);
        return -1;
    }
    drain->channel = channel;
    drain->ended = ended;
    drain->trace = trace;
    pthread_t thread[CHANNEL_MOST_WORKERS];
    unsigned started = 0,
             wanted = channel->workers < CHANNEL_MOST_WORKERS ? channel->workers : CHANNEL_MOST_WORKERS;
    while (started + 1 < wanted && pthread_create(&thread[started], NULL, work, drain) == 0)
        started++;
    work(drain);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < CHANNEL_RINGS; i++)
        if (drain->seat[i].engine)
            engine_close(drain->seat[i].engine);
    findings_settle(drain->findings);
    findings_close(drain->findings);
    free(drain);
    return 0;
}

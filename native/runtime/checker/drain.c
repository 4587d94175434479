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

static uint64_t word_at(const struct drain *drain, unsigned number) {
    uint64_t next = drain->seat[number].next;
    struct record *record = &channel_records(drain->channel, number)[next & (drain->channel->buffer - 1)];
    return atomic_load_explicit(&record->word, memory_order_acquire);
}

/* Whether a ring has a record that was not taken yet. */
static bool is_new(const struct drain *drain, unsigned number) {
    uint64_t word = word_at(drain, number);
    bool lap = word >> RECORD_LAP_SHIFT & 1;
    return (word & RECORD_OPERATION) && lap == !(drain->seat[number].next & drain->channel->buffer);
}

/* The rings of a thread, the first one and those inside it. What is read here is not believed. */
struct rings {
    unsigned number[1 + CHANNEL_INNER], count;
};

/* Whether the next record of an inner ring has its place before the next one of the rings around it. */
static bool is_inside(const struct drain *drain, const struct rings *rings, unsigned level) {
    unsigned number = rings->number[level];
    const struct record *record =
        &channel_records(drain->channel, number)[drain->seat[number].next & (drain->channel->buffer - 1)];
    uint64_t word = atomic_load_explicit(&record->word, memory_order_relaxed);
    if ((word & RECORD_OPERATION) != PC_INSIDE)
        return true; /* as was the PC_INSIDE before it */
    uint64_t around = drain->seat[rings->number[level - 1]].next, first = drain->seat[rings->number[0]].next;
    return record->address <= around &&
           (int32_t)((uint32_t)(word >> RECORD_SIZE_SHIFT) - (uint32_t)first) <= 0;
}

/* Which of a thread's rings has its next record; -1: none yet. An inner ring is looked at after those around
 * it: a record that a handler has interrupted is there only once the handler's are. */
static int next_ring(const struct drain *drain, struct rings *rings) {
    const struct channel *channel = drain->channel;
    unsigned first = rings->number[0];
    bool has[1 + CHANNEL_INNER] = {is_new(drain, first)};
    rings->count = 1;
    for (unsigned i = 0; i < CHANNEL_INNER; i++) {
        uint32_t inner = atomic_load(&channel->ring[first].inner[i]);
        if (inner == 0 || inner > CHANNEL_RINGS || atomic_load(&channel->ring[inner - 1].state) != RING_INNER)
            break;
        has[rings->count] = is_new(drain, inner - 1);
        rings->number[rings->count++] = inner - 1;
    }
    for (unsigned level = rings->count - 1; level > 0; level--)
        if (has[level] && is_inside(drain, rings, level))
            return (int)rings->number[level];
    return has[0] ? (int)first : -1;
}

/* What is checked, and saved, makes room for more. */
static void give_room_back(struct drain *drain, unsigned first, unsigned number) {
    struct channel_ring *ring = &drain->channel->ring[number];
    uint64_t before = atomic_load_explicit(&ring->taken, memory_order_relaxed),
             next = drain->seat[number].next;
    if (next == before)
        return;
    if (drain->trace)
        trace_add(drain->trace, first, atomic_load(&drain->channel->ring[first].owner),
                  channel_records(drain->channel, number), before, next - before, drain->channel->buffer);
    atomic_store_explicit(&ring->taken, next, memory_order_release);
    bell_ring(&drain->channel->answers);
}

static void end_of_thread(struct drain *drain, const struct rings *rings) {
    struct channel *channel = drain->channel;
    engine_close(drain->seat[rings->number[0]].engine);
    drain->seat[rings->number[0]].engine = NULL;
    for (unsigned i = 0; i < CHANNEL_INNER; i++)
        atomic_store(&channel->ring[rings->number[0]].inner[i], 0);
    for (unsigned level = rings->count; level-- > 0;) {
        give_room_back(drain, rings->number[0], rings->number[level]);
        atomic_store(&channel->ring[rings->number[level]].state, RING_FREE);
    }
}

/* Take the next record of a ring and check it; whether the thread goes on after it. */
static bool take_record(struct drain *drain, const struct rings *rings, unsigned number) {
    struct seat *seat = &drain->seat[number];
    struct record *record =
        &channel_records(drain->channel, number)[seat->next & (drain->channel->buffer - 1)];
    uint64_t word = atomic_load_explicit(&record->word, memory_order_relaxed);
    unsigned code = word & RECORD_OPERATION;
    engine_take(drain->seat[rings->number[0]].engine, code,
                (uint32_t)(word >> RECORD_SITE_SHIFT) & RECORD_SITE, record->address,
                word >> RECORD_SIZE_SHIFT);
    seat->next++;
    if (code == PC_THREAD_END)
        end_of_thread(drain, rings);
    return code != PC_THREAD_END;
}

static void answer(struct drain *drain, unsigned number, uint32_t request) {
    struct channel_ring *ring = &drain->channel->ring[number];
    if (atomic_load(&ring->answered) == request)
        return;
    findings_settle(drain->findings);
    atomic_store(&ring->answered, request);
    bell_ring(&drain->channel->answers);
}

/* Check what a thread's rings hold; how many records there were. */
static uint64_t drain_thread(struct drain *drain, unsigned first) {
    struct channel *channel = drain->channel;
    struct seat *seat = &drain->seat[first];
    uint32_t request = atomic_load(&channel->request);
    uint64_t taken = 0;
    int last = (int)first, next;
    struct rings rings = {{first}, 1};
    if (!seat->engine)
        seat->engine = open_engine(channel, drain->findings);
    while (seat->engine && (next = next_ring(drain, &rings)) >= 0) {
        if (next != last)
            give_room_back(drain, first, (unsigned)last); /* in their order, as a trace has them */
        last = next;
        taken++;
        if (!take_record(drain, &rings, (unsigned)next))
            break;
        if (taken % BATCH == 0)
            give_room_back(drain, first, (unsigned)next);
    }
    if (seat->engine)
        give_room_back(drain, first, (unsigned)last);
    answer(drain, first, request);
    atomic_fetch_add_explicit(&channel->checked, taken, memory_order_relaxed);
    return taken;
}

static uint64_t drain_all(struct drain *drain) {
    uint64_t checked = 0;
    uint32_t rings = atomic_load(&drain->channel->rings);
    for (uint32_t i = 0; i < rings && i < CHANNEL_RINGS; i++) {
        struct seat *seat = &drain->seat[i];
        if (atomic_load(&drain->channel->ring[i].state) != RING_TAKEN ||
            atomic_exchange(&seat->in_hand, true))
            continue;
        checked += drain_thread(drain, i);
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

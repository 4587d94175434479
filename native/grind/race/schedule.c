/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a plan with sync points. After: threads that are about to load at a point have waited for a store
 * of the point, and the thread that made it has waited until they have loaded what it had not made durable
 * yet; or the point is off.
 *
 * Who waits lets others run again and again. If nobody else can go on, one that waits becomes the privileged
 * one and waits no more at all; if that does not help either, or if waiting takes too long, the point is
 * given up for this run, and the board says after how many loads, so that the next run can skip those.
 *
 * A store under a lock cannot be answered by who waits for the lock. So a signal without an answer is given
 * once more just before the bytes are flushed, which is often behind the lock.
 *
 * Unlike in the paper, a signal counts only as long as its writer waits, and for the bytes it stored: a store
 * that nobody wanted to read does not end the waiting of all readers for good. And a plan may want several
 * signals: most loads that see a store do nothing with it.
 *
 * Nothing here depends on the clock, unless a wait would be too long for a person: the same plan is the same
 * order of threads (thread_states.c).
 */
#include "schedule.h"

#include "accesses.h"
#include "thread_states.h"
#include "threads.h"
#include "turns.h"
#include "wait_limit.h"

#define ROUNDS_AFTER_HIT 3u /* turns that readers get for what follows from their load, */
#define LONGER           4u /* or twice, four, eight times as many: what follows may be a long way off */

/* A sync point of the plan, as it stands. */
struct point {
    Bool on;
    Bool signalled; /* a writer waits for readers */
    struct pc_place stored;
    UInt hits;  /* loads since the signal */
    UInt given; /* stores that have signalled */
    UInt rounds_after_hit;
    UInt again; /* the thread whose signal nobody answered: it signals once more before it flushes */
};

static struct point points[PC_BOARD_SYNCS];
static ULong random_state;
static Bool has_privileged;
static UInt writers; /* that wait for readers */

static ULong next_random(void) {
    random_state += 0x9e3779b97f4a7c15ull;
    return pc_mix(pc_mix(0, random_state), 1);
}

void pc_schedule_start(void) {
    random_state = pc_board->plan.seed;
    for (UInt i = 0; i < pc_board->plan.sync_count; i++)
        points[i].on = pc_board->plan.mode == PC_BOARD_SYNC;
}

static Bool has_site(const struct pc_board_site *sites, UInt count, const struct pc_board_site *name) {
    for (UInt i = 0; i < count; i++)
        if (sites[i].module == name->module && sites[i].offset == name->offset)
            return True;
    return False;
}

ULong pc_schedule_points(const struct pc_board_site *name, Bool stores) {
    ULong found = 0;
    for (UInt i = 0; i < pc_board->plan.sync_count && pc_board->plan.mode == PC_BOARD_SYNC; i++) {
        const struct pc_board_sync *sync = &pc_board->syncs[i];
        Bool member = stores ? has_site(sync->stores, sync->store_count, name)
                             : has_site(sync->loads, sync->load_count, name);
        found |= (ULong)member << i;
    }
    return found;
}

/* The bytes of an access; file 0: they lie in no mapped file. */
static struct pc_place place_of(pc_site site, Addr address) {
    const struct pc_range *range = pc_range_from(address);
    if (range == NULL || range->start > address)
        return (struct pc_place){0};
    ULong offset = range->offset + (address - range->start);
    return (struct pc_place){pc_file_index(range->file), range->file, offset, offset + PC_SITE_SIZE(site)};
}

static Bool overlap(const struct pc_place *a, const struct pc_place *b) {
    return a->file == b->file && a->offset < b->end && b->offset < a->end;
}

static Bool is_meant(const struct pc_board_sync *sync, const struct pc_place *place) {
    if (sync->file != 0 && sync->file != place->file)
        return False;
    return sync->length == 0 || (sync->offset < place->end && place->offset < sync->offset + sync->length);
}

/* Lets go who waits at a point: all, or those who want to load what was stored. */
static void release(UInt number, const struct pc_place *stored) {
    for (UInt tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        struct pc_thread_state *thread = &pc_thread_states[tid];
        if (thread->waiting && thread->point == number && (stored == NULL || overlap(&thread->place, stored)))
            thread->waiting = False;
    }
}

static void turn_off(UInt number) {
    points[number].on = False;
    release(number, NULL);
}

static void give_up(UInt number) {
    pc_board->syncs[number].disabled = 1;
    turn_off(number);
}

/* Nobody can go on: one of those that wait here is made the privileged one. */
static void choose(UInt number) {
    struct pc_board_sync *sync = &pc_board->syncs[number];
    struct pc_thread_state *waiting[PC_CHANNEL_SLOTS], *chosen = NULL;
    UInt count = 0;
    for (UInt tid = 1; tid < PC_CHANNEL_SLOTS; tid++) {
        if (!pc_thread_states[tid].waiting || pc_thread_states[tid].index == 0)
            continue;
        if (pc_thread_states[tid].index == sync->privileged)
            chosen = &pc_thread_states[tid];
        waiting[count++] = &pc_thread_states[tid];
    }
    if (chosen == NULL)
        chosen = waiting[next_random() % count];
    has_privileged = True;
    sync->chosen = chosen->index;
    chosen->bypass = True;
    chosen->waiting = False;
}

static void wait_at(UInt number, const struct pc_place *place) {
    struct pc_thread_state *self = pc_self();
    struct pc_wait_limit limit = pc_wait_limit(pc_board->plan.wait_rounds, pc_board->plan.wait_ms);
    self->point = number;
    self->place = *place;
    self->waiting = True;
    pc_board->syncs[number].waits++;
    while (self->waiting) {
        enum pc_round round = pc_thread_states_let_run();
        if (!self->waiting)
            break;
        if (pc_thread_states_leaves(pc_running))
            self->waiting = False;
        else if (round == PC_ROUND_DEAD)
            (has_privileged ? give_up : choose)(number);
        else if (pc_wait_limit_reached(&limit, round))
            give_up(number);
    }
    pc_thread_states_turn(pc_running);
}

static Bool answers(const struct point *point, const struct pc_place *place) {
    return point->signalled && overlap(&point->stored, place);
}

/* Whether the bytes are what another thread has stored and not made durable. */
static Bool are_of_another(const struct pc_place *place) {
    for (ULong at = place->offset & ~(ULong)(PC_LINE - 1); at < place->end; at += PC_LINE) {
        const struct pc_shadow_line *line = pc_shadow_line(pc_shadow_page(place->number, at), at);
        ULong from = at > place->offset ? at : place->offset;
        ULong to = at + PC_LINE < place->end ? at + PC_LINE : place->end;
        for (UInt i = 0; i < line->count; i++)
            if (line->pending[i].thread != pc_self()->index &&
                (line->pending[i].mask & pc_line_mask(from, (UInt)(to - from))) != 0)
                return True;
    }
    return False;
}

static void reach(UInt number, const struct pc_place *place) {
    struct pc_board_sync *sync = &pc_board->syncs[number];
    struct point *point = &points[number];
    if (pc_thread_states_living() < 2)
        return; /* setting up, or cleaning up */
    sync->reached++;
    if (!answers(point, place)) {
        if (pc_self()->bypass || point->signalled)
            return; /* while a writer waits, nobody begins to: what follows from its store would not come */
        if (sync->reached <= sync->skip) {
            sync->skipped++;
            return;
        }
        wait_at(number, place);
    }
    if (answers(point, place) && are_of_another(place)) {
        sync->hits++;
        point->hits++;
    }
}

/* Generated code has things under way that another thread's code would overwrite. */
static void with_parts_kept(void (*act)(UInt number, const struct pc_place *place), UInt number,
                            const struct pc_place *place) {
    UInt parts = pc_parts;
    act(number, place);
    pc_parts = parts;
}

void pc_schedule_before_load(pc_site site, Addr address, ULong meant) {
    const struct pc_place place = place_of(site, address);
    if (place.file == 0)
        return;
    for (UInt i = 0; i < pc_board->plan.sync_count; i++) {
        const struct pc_board_sync *sync = &pc_board->syncs[i];
        UInt thread = pc_self()->index;
        UInt occurrence = *pc_site_occurrences(pc_site_at(PC_SITE_PC(site)), thread) + 1;
        if ((meant >> i & 1) != 0 && points[i].on && is_meant(sync, &place) &&
            (sync->reader == 0 || sync->reader == thread) &&
            (sync->load_occurrence == 0 || sync->load_occurrence == occurrence))
            with_parts_kept(reach, i, &place);
    }
}

/* Others run until what follows from their loads is there, or nobody loads what was stored. */
static void wait_for_readers(struct point *point) {
    struct pc_wait_limit limit = pc_wait_limit(pc_board->plan.writer_rounds, pc_board->plan.writer_ms);
    UInt after_hit = 0, hits = 0;
    writers++;
    while (after_hit < point->rounds_after_hit) {
        enum pc_round round = pc_thread_states_let_run();
        if (round == PC_ROUND_DEAD || pc_wait_limit_reached(&limit, round) ||
            pc_thread_states_leaves(pc_running))
            break;
        if (hits != point->hits)
            limit.rounds = point->rounds_after_hit + 1;
        after_hit = hits != point->hits ? 0 : after_hit + (round == PC_ROUND_RUN && hits > 0);
        hits = point->hits;
    }
    writers--;
}

/* A matter of chance, and the same when this very store is met again. */
static UInt rounds_after_hit(UInt occurrence) {
    return ROUNDS_AFTER_HIT << pc_mix(pc_mix(pc_board->plan.seed, pc_self()->index), occurrence) % LONGER;
}

/* How many stores signal. */
static UInt stores_of(const struct pc_board_sync *sync) {
    return sync->tries > 0 ? sync->tries : 1;
}

static void signal_at(UInt number, const struct pc_place *place) {
    struct pc_board_sync *sync = &pc_board->syncs[number];
    struct point *point = &points[number];
    if (pc_thread_states_living() < 2 || point->signalled)
        return;
    sync->signals++;
    Bool first = point->again == 0;
    *point = (struct point){.on = True,
                            .signalled = True,
                            .stored = *place,
                            .given = point->given + first,
                            .rounds_after_hit = point->rounds_after_hit};
    release(number, place);
    wait_for_readers(point);
    point->signalled = False;
    pc_thread_states_turn(pc_running);
    if (first && point->hits == 0)
        point->again = pc_self()->index;
    else if (point->given >= stores_of(sync))
        turn_off(number);
}

void pc_schedule_after_store(pc_site site, Addr address, ULong meant) {
    const struct pc_place place = place_of(site, address);
    if (place.file == 0)
        return;
    for (UInt i = 0; i < pc_board->plan.sync_count; i++) {
        const struct pc_board_sync *sync = &pc_board->syncs[i];
        UInt thread = pc_self()->index;
        UInt occurrence = *pc_site_occurrences(pc_site_at(PC_SITE_PC(site)), thread);
        if ((meant >> i & 1) != 0 && points[i].on && is_meant(sync, &place) &&
            (sync->writer == 0 || sync->writer == thread) && occurrence >= sync->store_occurrence &&
            points[i].given < stores_of(sync)) {
            points[i].rounds_after_hit = rounds_after_hit(occurrence);
            with_parts_kept(signal_at, i, &place);
        }
    }
}

void pc_schedule_before_flush(Addr line) {
    const struct pc_place flushed = place_of(PC_SITE(0, PC_LINE, PC_MEMORY_FLUSH, 0), line);
    for (UInt i = 0; i < pc_board->plan.sync_count; i++) {
        struct point *point = &points[i];
        const struct pc_place stored = point->stored;
        if (!point->on || point->again == 0 || point->again != pc_self()->index ||
            !overlap(&stored, &flushed))
            continue;
        with_parts_kept(signal_at, i, &stored);
        point->again = 0;
    }
    pc_wait_limit_flushed();
    pc_turns_at_flush(writers > 0);
}

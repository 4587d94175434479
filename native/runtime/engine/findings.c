/* Findings of all threads: looked up by kind and places, added to the channel when new, counted when not.
 * Their table never grows, as the channel has room for so many, and points into memory that two processes
 * share: so it is not one of hash_table.h. */
#include "findings.h"

#include "writers.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 2 * CHANNEL_FINDINGS };

struct findings {
    struct channel *channel;
    pthread_mutex_t lock;
    struct channel_finding *slot[SLOTS];
    _Atomic uint32_t threads;
    struct writers writers;
};

struct findings *findings_open(struct channel *channel) {
    struct findings *findings = calloc(1, sizeof *findings);
    if (findings) {
        findings->channel = channel;
        pthread_mutex_init(&findings->lock, NULL);
    }
    return findings;
}

void findings_close(struct findings *findings) {
    pthread_mutex_destroy(&findings->lock);
    free(findings);
}

static bool is_same(const struct channel_finding *a, const struct channel_finding *b) {
    return a->kind == b->kind && a->at == b->at && a->write == b->write && a->other == b->other;
}

static size_t slot_of(const struct channel_finding *finding) {
    uint64_t mixed = finding->kind;
    mixed = mixed * 0x9e3779b97f4a7c15u + finding->at;
    mixed = mixed * 0x9e3779b97f4a7c15u + finding->write;
    mixed = mixed * 0x9e3779b97f4a7c15u + finding->other;
    return (size_t)((mixed * 0x9e3779b97f4a7c15u) >> 40) % SLOTS;
}

uint32_t findings_new_thread(struct findings *findings) {
    return atomic_fetch_add(&findings->threads, 1);
}

void note_page(struct engine *engine, uint64_t page) {
    writers_note(&engine->findings->writers, page, engine->thread);
}

/* Whether what is said of a flush holds only as long as no other thread writes there. What a thread that is
 * not recorded writes nobody knows. */
static bool is_of_writeback(uint32_t kind) {
    return kind == KIND_CLEAN_WRITEBACK || kind == KIND_SECOND_WRITEBACK;
}

static bool is_outdated(struct findings *findings, const struct channel_finding *finding) {
    if (!is_of_writeback(finding->kind))
        return false;
    return atomic_load(&findings->channel->lost_threads) ||
           (atomic_load(&findings->threads) > 1 &&
            writers_include_others(&findings->writers, finding->address / SHADOW_PAGE, finding->thread));
}

void findings_settle(struct findings *findings) {
    pthread_mutex_lock(&findings->lock);
    for (size_t i = 0; i < SLOTS; i++)
        if (findings->slot[i] && is_outdated(findings, findings->slot[i]))
            atomic_store(&findings->slot[i]->ready, 0);
    pthread_mutex_unlock(&findings->lock);
}

/* One more of the same; if the first is outdated, this one stands for all. */
static void count(struct findings *findings, struct channel_finding *known,
                  const struct channel_finding *new) {
    atomic_fetch_add(&known->count, 1);
    if (is_of_writeback(new->kind) && is_outdated(findings, known)) {
        known->address = new->address;
        known->thread = new->thread;
        atomic_store(&known->ready, 1);
    }
}

/* Whether the operation that is being checked was counted there already: it is one, however many pieces of
 * memory it is about. */
static bool is_told(struct engine *engine, size_t slot) {
    if (!engine->told && !(engine->told = calloc(SLOTS, sizeof *engine->told)))
        return false;
    bool told = engine->told[slot] == engine->serial;
    engine->told[slot] = engine->serial;
    return told;
}

void report(struct engine *engine, enum kind_number kind, const struct finding_place *place) {
    struct findings *findings = engine->findings;
    struct channel_finding finding = {.kind = kind,
                                      .at = place->at,
                                      .write = place->write,
                                      .other = place->other,
                                      .address = place->address,
                                      .size = place->size,
                                      .thread = engine->thread};
    if (is_outdated(findings, &finding))
        return;
    pthread_mutex_lock(&findings->lock);
    size_t slot = slot_of(&finding);
    while (findings->slot[slot] && !is_same(findings->slot[slot], &finding))
        slot = (slot + 1) % SLOTS;
    if (is_told(engine, slot)) {
        /* counted */
    } else if (findings->slot[slot]) {
        count(findings, findings->slot[slot], &finding);
    } else {
        findings->slot[slot] = channel_add_finding(findings->channel, &finding);
    }
    pthread_mutex_unlock(&findings->lock);
}

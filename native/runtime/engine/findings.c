/* Findings of all threads: looked up by kind and places, added to the channel when new, counted when not. */
#include "findings.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 2 * CHANNEL_FINDINGS };

struct findings {
    struct channel *channel;
    pthread_mutex_t lock;
    struct channel_finding *slot[SLOTS];
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

void report(struct engine *engine, enum kind_number kind, const struct finding_place *place) {
    struct findings *findings = engine->findings;
    struct channel_finding finding = {.kind = kind,
                                      .at = place->at,
                                      .write = place->write,
                                      .other = place->other,
                                      .address = place->address,
                                      .size = place->size,
                                      .ring = engine->ring};
    pthread_mutex_lock(&findings->lock);
    size_t slot = slot_of(&finding);
    while (findings->slot[slot] && !is_same(findings->slot[slot], &finding))
        slot = (slot + 1) % SLOTS;
    if (findings->slot[slot])
        atomic_fetch_add(&findings->slot[slot]->count, 1);
    else
        findings->slot[slot] = channel_add_finding(findings->channel, &finding);
    pthread_mutex_unlock(&findings->lock);
}

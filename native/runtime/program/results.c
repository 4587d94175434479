/* Results for the program itself: wait until everything is checked, then read what was found. */
#include "program.h"

#include <errno.h>

enum { PATIENCE_MS = 50 };

/* Whether the checker has seen everything that was recorded before a request. */
static bool is_answered(struct channel *channel, uint32_t request) {
    uint32_t rings = atomic_load(&channel->rings);
    for (uint32_t i = 0; i < rings && i < CHANNEL_RINGS; i++) {
        struct channel_ring *ring = &channel->ring[i];
        if (atomic_load(&ring->state) == RING_TAKEN && (int32_t)(atomic_load(&ring->answered) - request) < 0)
            return false;
    }
    return true;
}

static void wait_until_checked(struct channel *channel) {
    uint32_t request = atomic_fetch_add(&channel->request, 1) + 1;
    for (;;) {
        uint32_t answers = bell_look(&channel->answers);
        if (is_answered(channel, request) || atomic_load(&channel->done))
            return;
        bell_ring(&channel->wake);
        bell_wait(&channel->answers, answers, PATIENCE_MS);
        uint32_t checker = atomic_load(&channel->checker);
        if (checker && process_is_gone(checker))
            return;
    }
}

static struct pc_place place_of(const struct channel *channel, uint32_t number) {
    if (number == SITE_UNKNOWN || number >= CHANNEL_SITES || !atomic_load(&channel->site[number].ready))
        return (struct pc_place){NULL, NULL, 0};
    const struct channel_site *site = &channel->site[number];
    return (struct pc_place){channel_string(channel, site->file), channel_string(channel, site->function),
                             site->line};
}

static struct pc_result result_of(const struct channel *channel, const struct channel_finding *finding) {
    const struct kind *kind = &kinds[finding->kind];
    return (struct pc_result){
        .severity = kind->severity,
        .kind = kind->name,
        .why = kind->why,
        .at = place_of(channel, finding->at),
        .write = place_of(channel, finding->write),
        .other = place_of(channel, finding->other),
        .address = finding->address,
        .size = finding->size,
        .count = atomic_load(&finding->count),
    };
}

size_t pc_get_results(struct pc_result *results, size_t capacity) {
    int reason = errno;
    struct channel *channel = atomic_load(&session.channel);
    size_t count = 0;
    if (channel) {
        wait_until_checked(channel);
        uint32_t findings = atomic_load(&channel->findings);
        for (uint32_t i = 0; i < findings && i < CHANNEL_FINDINGS; i++) {
            const struct channel_finding *finding = &channel->finding[i];
            if (!atomic_load(&finding->ready) || finding->kind >= KIND_COUNT)
                continue;
            if (count < capacity)
                results[count] = result_of(channel, finding);
            count++;
        }
    }
    errno = reason;
    return count;
}

size_t pc_count_results(enum pc_severity severity) {
    int reason = errno;
    struct channel *channel = atomic_load(&session.channel);
    size_t count = 0;
    if (channel) {
        wait_until_checked(channel);
        uint32_t findings = atomic_load(&channel->findings);
        for (uint32_t i = 0; i < findings && i < CHANNEL_FINDINGS; i++) {
            uint32_t kind = channel->finding[i].kind;
            count += atomic_load(&channel->finding[i].ready) && kind < KIND_COUNT &&
                     kinds[kind].severity == severity;
        }
    }
    errno = reason;
    return count;
}

/* eADR: caches survive a power cut, so that a store is persistent when it is made, and stores persist in
 * their order. Only a non-temporal store, which passes by the caches, waits for a fence. */
#include "engine.h"
#include "models.h"

static enum durability durability(const struct engine *engine, const struct span *span) {
    return span->flushed || epoch_of(span->written) < epoch_of(engine->clock) ? IS_PERSISTENT : LACKS_FENCE;
}

static uint64_t end(const struct engine *engine, const struct span *span) {
    if (durability(engine, span) != IS_PERSISTENT)
        return TIME_FOREVER;
    return span->flushed ? span->written + 1 : next_fence(span->written);
}

const struct model model_eadr = {
    .name = "eadr",
    .effect = {[PC_WRITE] = WRITES_THROUGH,
               [PC_WRITE_NT] = WRITES,
               [PC_FLUSH] = FLUSHES_FREELY,
               [PC_LIBRARY_FLUSH] = FLUSHES_FREELY,
               [PC_DC_CVAP] = FLUSHES_FREELY,
               [PC_FENCE] = FENCES,
               [PC_DSB] = FENCES,
               [PC_OFENCE] = IS_FOREIGN,
               [PC_DFENCE] = IS_FOREIGN},
    .durability = durability,
    .end = end,
};

/* HOPS: ofence orders what is written before and after it, dfence waits until all of it is persistent. There
 * are no flushes. The fence of a program for x86 stands for a dfence, as in a port that keeps its guarantees.
 */
#include "engine.h"
#include "models.h"

static enum durability durability(const struct engine *engine, const struct span *span) {
    return span->written < engine->drained ? IS_PERSISTENT : LACKS_FENCE;
}

/* Either fence orders, so that a write need not be persistent to persist before another. */
static uint64_t end(const struct engine *engine, const struct span *span) {
    return next_fence(span->written);
}

const struct model model_hops = {
    .name = "hops",
    .effect = {[PC_WRITE] = WRITES,
               [PC_WRITE_NT] = WRITES,
               [PC_FENCE] = DRAINS,
               [PC_DSB] = DRAINS,
               [PC_OFENCE] = ORDERS,
               [PC_DFENCE] = DRAINS},
    .durability = durability,
    .end = end,
};

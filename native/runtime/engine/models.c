/* The list of models, and the rules that several of them share. */
#include "models.h"

#include <string.h>

const struct model *const models[] = {&model_x86, &model_eadr, &model_hops, &model_armv8, NULL};

const struct model *model_of(const char *name) {
    for (const struct model *const *model = models; *model; model++)
        if (strcmp((*model)->name, name) == 0)
            return *model;
    return NULL;
}

enum durability persistent_after_flush_and_fence(const struct engine *engine, const struct span *span) {
    if (!span->flushed)
        return LACKS_FLUSH;
    return epoch_of(span->flushed) < epoch_of(engine->clock) ? IS_PERSISTENT : LACKS_FENCE;
}

uint64_t fence_after_flush(const struct engine *engine, const struct span *span) {
    bool persistent = persistent_after_flush_and_fence(engine, span) == IS_PERSISTENT;
    return persistent ? next_fence(span->flushed) : TIME_FOREVER;
}

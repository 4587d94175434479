/* The models, and the rules that several of them share. */
#ifndef POWERCUT_MODELS_H
#define POWERCUT_MODELS_H

#include "engine.h"

extern const struct model model_x86, model_eadr, model_hops, model_armv8;

/* A span's persist interval goes from its write to the first fence after its flush. */
enum durability persistent_after_flush_and_fence(const struct engine *engine, const struct span *span);
uint64_t fence_after_flush(const struct engine *engine, const struct span *span);

#endif

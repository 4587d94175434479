/* x86: clwb, clflushopt and clflush write a line back, a fence waits for it. */
#include "models.h"

const struct model model_x86 = {
    .name = "x86",
    .effect = {[PC_WRITE] = WRITES,
               [PC_WRITE_NT] = WRITES_THROUGH,
               [PC_FLUSH] = FLUSHES,
               [PC_LIBRARY_FLUSH] = FLUSHES,
               [PC_DC_CVAP] = FLUSHES,
               [PC_FENCE] = FENCES,
               [PC_DSB] = FENCES,
               [PC_OFENCE] = IS_FOREIGN,
               [PC_DFENCE] = IS_FOREIGN},
    .durability = persistent_after_flush_and_fence,
    .end = fence_after_flush,
};

/* ARMv8: DC CVAP cleans a line to the point of persistence, DSB waits for it. A non-temporal store is only a
 * hint there: it needs DC CVAP like any other. */
#include "models.h"

const struct model model_armv8 = {
    .name = "armv8",
    .effect = {[PC_WRITE] = WRITES,
               [PC_WRITE_NT] = WRITES,
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

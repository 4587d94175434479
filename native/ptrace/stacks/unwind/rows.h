/* Rows of call frame information, cached by module and address for all processes together.
 *
 * Before: a module of a pc_modules that outlives the cache. After: the row for the address, computed once.
 */
#ifndef POWERCUT_STACKS_UNWIND_ROWS_H
#define POWERCUT_STACKS_UNWIND_ROWS_H

#include "stacks/modules/module.h"
#include "stacks/unwind/unwind.h"

struct pc_cached_row {
    const struct pc_module *module;
    uint64_t address;
    bool valid; /* false: there is no information for the address */
    struct cfi_row row;
};

/* NULL only if out of memory. */
const struct pc_cached_row *pc_rows_get(struct pc_rows *rows, struct pc_module *module, uint64_t address);

#endif

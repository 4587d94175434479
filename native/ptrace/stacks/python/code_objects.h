/* CPython code objects, as interned PC_TABLE_PYCODE entries.
 *
 * Before: addresses that should be code objects in a stopped process. After: for each the id of an entry with
 * its file name, qualified name and line table; 0 for what does not look like a code object.
 */
#ifndef POWERCUT_STACKS_PYTHON_CODE_OBJECTS_H
#define POWERCUT_STACKS_PYTHON_CODE_OBJECTS_H

#include "stacks/python/offsets.h"

#define PC_PYCODE_HEAD 256 /* bytes read of each code object: all fields of interest lie there */

struct pc_writer;
struct pc_pycodes;

struct pc_pycode_ref {
    uint64_t address;
    uint32_t id;
    uint64_t size; /* of the byte code */
};

struct pc_pycodes *pc_pycodes_new(struct pc_writer *writer);
void pc_pycodes_free(struct pc_pycodes *codes);

/* What a code object is called in every run (stacks/stable_name.h), by the id of its entry; 0 if there is
 * none. */
uint64_t pc_pycodes_name(const struct pc_pycodes *codes, uint32_t id);

/* `lineage` tells address spaces apart: the same for a forked child, a new one after exec. `type` is the
 * address of PyCode_Type in the process, 0 if unknown. */
void pc_pycodes_resolve(struct pc_pycodes *codes, const struct pc_pyoffsets *offsets,
                        struct pc_target_memory *memory, uint64_t lineage, uint64_t type,
                        struct pc_pycode_ref *refs, unsigned count);

#endif

/* Names of call stacks that are the same in every run of the same programs.
 *
 * Ids of stacks, modules and code objects count from 1 in each trace, and addresses differ from run to run. A
 * name is a hash (FNV-1a, 64 bits) of what does not: of a native frame the build-id of its file (the file's
 * own name if it has none) and the address in it; of a Python frame the file's own name, the function, its
 * first line and the instruction. Of code in no file only that it is there. Where there are Python frames,
 * the native ones from the interpreter outwards do not count; where powercut itself called a Python
 * function to record it, nor does what is outside of that (PC_NAME_BORDER). Of a stack that a runtime tells
 * only its text counts, besides the innermost native frame: what is compiled when differs from run to run.
 *
 * src/powercut/trace/stack_names.py makes the same names from a trace. */
#ifndef POWERCUT_STACKS_STABLE_NAME_H
#define POWERCUT_STACKS_STABLE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pc_module;

#define PC_NAME_START 14695981039346656037ull

#define PC_NAME_BORDER 1ull /* the code name of _be_recorded in recorder.py */

/* Names by id; a zeroed struct is empty. */
struct pc_stack_names {
    uint64_t *names;
    size_t room;
};

void pc_stack_names_keep(struct pc_stack_names *names, uint32_t id, uint64_t name);
/* 0 if there is none. */
uint64_t pc_stack_names_get(const struct pc_stack_names *names, uint32_t id);
void pc_stack_names_free(struct pc_stack_names *names);

/* The name so far with one more frame. `module` may be NULL: code in no file. */
uint64_t pc_name_native(uint64_t name, const struct pc_module *module, uint64_t address);
uint64_t pc_name_python(uint64_t name, uint64_t code, uint64_t instruction);

/* The hash so far of some more bytes. */
uint64_t pc_name_bytes(uint64_t name, const void *data, size_t length);

/* What a PC_TABLE_TOLD entry is called, and the name so far with such an entry, as PC_FRAME_TOLD or _ASKED.
 */
uint64_t pc_name_told(const uint8_t *entry, size_t length);
uint64_t pc_name_with_told(uint64_t name, uint32_t kind, uint64_t told);

/* The name of a PC_TABLE_PYCODE entry, which is whole. */
uint64_t pc_pycode_name(const uint8_t *entry);

bool pc_is_interpreter(const struct pc_module *module);

#endif

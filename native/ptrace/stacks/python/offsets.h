/* Where CPython 3.11 to 3.14 keep what leads from a thread to its Python frames.
 *
 * Before: the address of _PyRuntime in a process and its version. After pc_pyoffsets_find: offsets that
 * passed sanity checks, or false for a version or build that is not known. 3.11 and 3.12 come from a table
 * made from their headers; 3.13 and later publish their own offsets at the start of _PyRuntime, in an order
 * that differs between versions.
 */
#ifndef POWERCUT_STACKS_PYTHON_OFFSETS_H
#define POWERCUT_STACKS_PYTHON_OFFSETS_H

#include "stacks/unwind/memory.h"

struct pc_pyoffsets {
    uint32_t version; /* 0x030B for 3.11 */
    bool cframe;      /* the thread points to a C frame that points to the current frame */
    uint32_t cframe_frame;
    uint32_t runtime_interpreters;
    uint32_t interpreter_next, interpreter_threads;
    uint32_t thread_next, thread_interpreter, thread_frame, thread_native_id;
    uint32_t frame_previous, frame_code, frame_instruction, frame_owner, frame_size;
    uint32_t code_first_line, code_filename, code_qualname, code_linetable, code_bytes;
    uint32_t unicode_length, unicode_state, ascii_size, compact_size;
    uint32_t
        unicode_kind_bit; /* first bit of `kind` in the state; `compact` and `ascii` stand above its three */
    uint32_t bytes_data;
};

/* `version` is the high half of Py_Version. */
bool pc_pyoffsets_find(struct pc_target_memory *memory, uint64_t runtime, uint32_t version,
                       struct pc_pyoffsets *out);

#endif

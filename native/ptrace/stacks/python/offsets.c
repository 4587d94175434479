/* Offsets in CPython's structures: see stacks/python/offsets.h. */
#include "stacks/python/offsets.h"

static const struct pc_pyoffsets table[] = {
    {
        .version = 0x030B,
        .cframe = true,
        .cframe_frame = 8,
        .runtime_interpreters = 40,
        .interpreter_next = 0,
        .interpreter_threads = 16,
        .thread_next = 8,
        .thread_interpreter = 16,
        .thread_frame = 56,
        .thread_native_id = 160,
        .frame_code = 32,
        .frame_previous = 48,
        .frame_instruction = 56,
        .frame_owner = 69,
        .frame_size = 72,
        .code_first_line = 72,
        .code_filename = 112,
        .code_qualname = 128,
        .code_linetable = 136,
        .code_bytes = 184,
        .unicode_length = 16,
        .unicode_state = 32,
        .ascii_size = 48,
        .compact_size = 72,
        .bytes_data = 32,
    },
    {
        .version = 0x030C,
        .cframe = true,
        .cframe_frame = 0,
        .runtime_interpreters = 40,
        .interpreter_next = 0,
        .interpreter_threads = 72,
        .thread_next = 8,
        .thread_interpreter = 16,
        .thread_frame = 56,
        .thread_native_id = 144,
        .frame_code = 0,
        .frame_previous = 8,
        .frame_instruction = 56,
        .frame_owner = 70,
        .frame_size = 72,
        .code_first_line = 68,
        .code_filename = 112,
        .code_qualname = 128,
        .code_linetable = 136,
        .code_bytes = 192,
        .unicode_length = 16,
        .unicode_state = 32,
        .ascii_size = 40,
        .compact_size = 56,
        .bytes_data = 32,
    },
};

/* Places of fields in _Py_DebugOffsets, counted in 8-byte words, where they differ between 3.13 and 3.14:
 * members were added to the interpreter (3), the frame (2), the code object (1) and for sets (4). */
struct published {
    unsigned thread, frame, code, object, bytes, unicode;
};

static const struct published published_3_13 = {
    .thread = 19, .frame = 28, .code = 34, .object = 44, .bytes = 64, .unicode = 67};
static const struct published published_3_14 = {
    .thread = 22, .frame = 31, .code = 39, .object = 50, .bytes = 74, .unicode = 77};
enum { PUBLISHED_WORDS = 81, RUNTIME = 3, INTERPRETER = 6 };

static void take_published(const uint64_t *w, const struct published *p, struct pc_pyoffsets *o) {
    o->cframe = false;
    o->runtime_interpreters = (uint32_t)w[RUNTIME + 2];
    o->interpreter_next = (uint32_t)w[INTERPRETER + 2];
    o->interpreter_threads = (uint32_t)w[INTERPRETER + 3];
    o->thread_next = (uint32_t)w[p->thread + 2];
    o->thread_interpreter = (uint32_t)w[p->thread + 3];
    o->thread_frame = (uint32_t)w[p->thread + 4];
    o->thread_native_id = (uint32_t)w[p->thread + 6];
    o->frame_size = (uint32_t)w[p->frame];
    o->frame_previous = (uint32_t)w[p->frame + 1];
    o->frame_code = (uint32_t)w[p->frame + 2];
    o->frame_instruction = (uint32_t)w[p->frame + 3];
    o->frame_owner = (uint32_t)w[p->frame + 5];
    o->code_filename = (uint32_t)w[p->code + 1];
    o->code_qualname = (uint32_t)w[p->code + 3];
    o->code_linetable = (uint32_t)w[p->code + 4];
    o->code_first_line = (uint32_t)w[p->code + 5];
    o->code_bytes = (uint32_t)w[p->code + 9];
    o->bytes_data = (uint32_t)w[p->bytes + 2];
    o->unicode_state = (uint32_t)w[p->unicode + 1];
    o->unicode_length = (uint32_t)w[p->unicode + 2];
    o->ascii_size = (uint32_t)w[p->unicode + 3];
    o->compact_size = o->ascii_size + 16;
}

/* An object's head and a string's head have not changed in ten years: if these words are where they should
 * be, the order of the structure is the one we believe. */
static bool plausible(const uint64_t *w, const struct published *p) {
    bool head = w[p->object] == 16 && w[p->object + 1] == 8 && w[p->bytes + 1] == 16 && w[p->bytes + 2] == 32;
    bool text = w[p->unicode + 1] == 32 && w[p->unicode + 2] == 16 && w[p->unicode + 3] == 40;
    bool thread = w[p->thread + 1] == 0 && w[p->thread + 2] == 8 && w[p->thread + 6] < 1024;
    bool code = w[p->code] < 1024 && w[p->code + 9] < w[p->code] + 8;
    bool frame = w[p->frame] <= 256 && w[p->frame + 5] < w[p->frame];
    return head && text && thread && code && frame && w[RUNTIME + 2] < w[RUNTIME] &&
           w[INTERPRETER + 3] < (1u << 20);
}

static bool read_published(struct pc_target_memory *memory, uint64_t runtime, uint32_t version,
                           struct pc_pyoffsets *out) {
    uint64_t words[PUBLISHED_WORDS];
    const struct published *p = version == 0x030D ? &published_3_13 : &published_3_14;
    if (!pc_memory_read(memory, runtime, words, sizeof words) || memcmp(words, "xdebugpy", 8) != 0 ||
        words[1] >> 16 != version)
        return false;
    /* A build without the GIL has larger objects and byte code of its own for each thread: not supported. */
    if (words[2] != 0 || !plausible(words, p))
        return false;
    out->version = version;
    take_published(words, p, out);
    return true;
}

bool pc_pyoffsets_find(struct pc_target_memory *memory, uint64_t runtime, uint32_t version,
                       struct pc_pyoffsets *out) {
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].version == version) {
            *out = table[i];
            return true;
        }
    }
    return (version == 0x030D || version == 0x030E) && read_published(memory, runtime, version, out);
}

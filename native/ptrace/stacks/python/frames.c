/* From a thread id to its Python frames: see stacks/python/frames.h. */
#include "stacks/python/frames.h"
#include "stacks/python/thread_state.h"

#define FRAME_BYTES 256u

unsigned pc_pyframes_ranges(const struct pc_pyprocess *p, pid_t tid, struct pc_range *out, unsigned room) {
    struct pc_pythread *thread = p->known ? pc_pythread_known((struct pc_pyprocess *)p, tid) : 0;
    if (!thread || room < 2)
        return 0;
    out[0] = (struct pc_range){thread->state, p->offsets.thread_native_id + 8};
    out[1] = thread->chain;
    return thread->chain.size ? 2 : 1;
}

/* Frames grow upwards in one chunk of memory and the walk goes down: fetch what lies below the innermost one.
 */
static void fetch_chunk(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t frame) {
    if (pc_memory_holds(memory, frame, o->frame_size))
        return;
    struct pc_range range = {(frame & ~63ull) + 192 - 4096, 4096};
    pc_memory_fetch(memory, &range, 1);
}

/* Remembers where the chain lies, if in one piece that a window can hold. */
static void note_chain(struct pc_range *chain, uint64_t low, uint64_t high) {
    chain->base = low & ~63ull;
    chain->size = high - chain->base <= 4096 ? high - chain->base : 0;
}

static bool read_frame(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t address,
                       uint8_t *out) {
    return address % 8 == 0 && address > 4096 && pc_memory_read(memory, address, out, o->frame_size);
}

static uint64_t word(const uint8_t *data, uint32_t offset) {
    uint64_t value;
    memcpy(&value, data + offset, 8);
    return value;
}

/* Frames that stand for C code (from 3.12 on) or whose owner is nonsense do not count. */
static bool runs_python(const struct pc_pyoffsets *o, const uint8_t *frame) {
    return frame[o->frame_owner] < 3;
}

/* A frame counts by its code, where in it it is, and which one called it. */
static void depend(struct pc_reads *reads, const struct pc_pyoffsets *o, uint64_t address,
                   const uint8_t *frame) {
    pc_reads_add(reads, address + o->frame_code, word(frame, o->frame_code));
    pc_reads_add(reads, address + o->frame_instruction, word(frame, o->frame_instruction));
    pc_reads_add(reads, address + o->frame_previous, word(frame, o->frame_previous));
}

/* Follows the chain of frames; fills refs and instruction pointers. */
static unsigned walk(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t address,
                     struct pc_pycode_ref *refs, uint64_t *instructions, struct pc_range *chain) {
    uint8_t frame[FRAME_BYTES];
    unsigned count = 0;
    uint64_t low = address, high = address + o->frame_size;
    fetch_chunk(memory, o, address);
    for (unsigned steps = 0; steps < 2 * PC_PY_DEPTH && count < PC_PY_DEPTH && address; steps++) {
        if (!read_frame(memory, o, address, frame))
            break;
        if (address < low && high - address <= 4096)
            low = address;
        depend(memory->reads, o, address, frame);
        if (runs_python(o, frame)) {
            refs[count].address = word(frame, o->frame_code) & ~7ull; /* 3.14 keeps tags in the low bits */
            instructions[count++] = word(frame, o->frame_instruction);
        }
        address = word(frame, o->frame_previous);
    }
    note_chain(chain, low, high);
    return count;
}

/* Turns what was found into trace frames. A frame whose instruction lies outside its code is incomplete. */
static unsigned emit(const struct pc_pyoffsets *o, const struct pc_pycode_ref *refs,
                     const uint64_t *instructions, unsigned count, struct pc_frame *out) {
    unsigned written = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t offset = instructions[i] - (refs[i].address + o->code_bytes);
        if (refs[i].id == 0 || offset >= refs[i].size)
            continue;
        out[written++] = (struct pc_frame){PC_FRAME_PYTHON, refs[i].id, offset};
    }
    return written;
}

/* Reads the version once. The interpreter's file may be mapped long before its data are set up, but the
 * version is a constant in it. */
static void look(struct pc_pyprocess *p, const struct pc_mapping *python, struct pc_target_memory *memory) {
    uint64_t version, bias = python->bias;
    const struct pc_module *m = python->module;
    p->looked = true;
    if (!m->py_version || !pc_memory_u64(memory, m->py_version + bias, &version))
        return;
    p->runtime = m->py_runtime + bias;
    p->code_type = m->py_code_type ? m->py_code_type + bias : 0;
    p->known = pc_pyoffsets_find(memory, p->runtime, (uint32_t)version >> 16, &p->offsets) &&
               p->offsets.frame_size <= FRAME_BYTES && p->offsets.frame_owner < p->offsets.frame_size &&
               p->offsets.frame_code + 8 <= p->offsets.frame_size &&
               p->offsets.frame_previous + 8 <= p->offsets.frame_size &&
               p->offsets.frame_instruction + 8 <= p->offsets.frame_size;
}

unsigned pc_pyframes(struct pc_pyprocess *p, const struct pc_mapping *python,
                     const struct pc_pycontext *context, struct pc_frame *out, unsigned room) {
    struct pc_pycode_ref refs[PC_PY_DEPTH];
    uint64_t instructions[PC_PY_DEPTH], frame;
    if (!p->looked)
        look(p, python, context->memory);
    if (!p->known || !pc_pythread_frame(p, context, &frame) || !frame)
        return 0;
    struct pc_range chain;
    unsigned count = walk(context->memory, &p->offsets, frame, refs, instructions, &chain);
    struct pc_pythread *thread = pc_pythread_known(p, context->tid);
    if (thread)
        thread->chain = chain;
    if (count > room)
        count = room;
    pc_pycodes_resolve(context->codes, &p->offsets, context->memory, context->lineage, p->code_type, refs,
                       count);
    return emit(&p->offsets, refs, instructions, count, out);
}

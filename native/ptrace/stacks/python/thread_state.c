/* From a thread id to its PyThreadState: see stacks/python/thread_state.h.
 *
 * Every thread state holds the id of the thread that made it. After fork (and in a child of vfork, which runs
 * on its parent's memory) that id is of a thread in the parent: then the only state left is the one, or the
 * one whose C frame lies on the stack at hand.
 */
#define _GNU_SOURCE
#include "stacks/python/thread_state.h"

#include <sys/syscall.h>
#include <unistd.h>

#define MAX_THREADS      4096u
#define MAX_INTERPRETERS 64u
#define STACK_REACH      (64ull << 20) /* how far above the stack pointer a thread's first C frame may lie */

struct state {
    uint64_t address, next, native_id;
    uint64_t frame; /* current frame, or the C frame that points to it */
};

static bool read_state(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t address,
                       struct state *out) {
    out->address = address;
    return address > 4096 && address % 8 == 0 &&
           pc_memory_u64(memory, address + o->thread_next, &out->next) &&
           pc_memory_u64(memory, address + o->thread_frame, &out->frame) &&
           pc_memory_u64(memory, address + o->thread_native_id, &out->native_id);
}

struct search {
    pid_t tid;
    uint64_t rsp;
    unsigned count;
    bool found;
    struct state match; /* by thread id */
    struct state last;  /* any */
    struct state near;  /* the one with the lowest C frame above the stack pointer */
    bool has_near;
};

static void consider(struct search *s, const struct pc_pyoffsets *o, const struct state *state) {
    s->count++;
    s->last = *state;
    if (state->native_id == (uint64_t)s->tid) {
        s->match = *state;
        s->found = true;
    }
    bool above = o->cframe && state->frame >= s->rsp && state->frame - s->rsp < STACK_REACH;
    if (above && (!s->has_near || state->frame < s->near.frame)) {
        s->near = *state;
        s->has_near = true;
    }
}

static void search_threads(struct search *s, const struct pc_pyprocess *p, struct pc_target_memory *memory) {
    const struct pc_pyoffsets *o = &p->offsets;
    uint64_t interpreter, thread;
    if (!pc_memory_u64(memory, p->runtime + o->runtime_interpreters, &interpreter))
        return;
    for (unsigned i = 0; i < MAX_INTERPRETERS && interpreter && !s->found; i++) {
        if (interpreter % 8 || !pc_memory_u64(memory, interpreter + o->interpreter_threads, &thread))
            return;
        while (thread && s->count < MAX_THREADS && !s->found) {
            struct state state;
            if (!read_state(memory, o, thread, &state))
                return;
            consider(s, o, &state);
            thread = state.next;
        }
        if (!pc_memory_u64(memory, interpreter + o->interpreter_next, &interpreter))
            return;
    }
}

/* Signal 0 only asks: is there such a thread in the process? If so, the state is that thread's, not ours. */
static bool stale(pid_t tgid, uint64_t native_id) {
    return syscall(SYS_tgkill, tgid, (pid_t)native_id, 0) != 0;
}

static const struct state *choose(const struct search *s, pid_t tgid) {
    if (s->found)
        return &s->match;
    if (s->has_near && stale(tgid, s->near.native_id))
        return &s->near;
    if (s->count == 1 && stale(tgid, s->last.native_id))
        return &s->last;
    return 0;
}

static bool current_frame(struct pc_target_memory *memory, const struct pc_pyoffsets *o,
                          const struct state *state, uint64_t *frame) {
    *frame = state->frame;
    return !o->cframe || (state->frame && pc_memory_u64(memory, state->frame + o->cframe_frame, frame));
}

struct pc_pythread *pc_pythread_known(struct pc_pyprocess *p, pid_t tid) {
    for (unsigned i = 0; i < PC_PY_THREADS; i++)
        if (p->threads[i].state && p->threads[i].tid == tid)
            return &p->threads[i];
    return 0;
}

static void remember(struct pc_pyprocess *p, pid_t tid, const struct state *state) {
    struct pc_pythread *entry = pc_pythread_known(p, tid);
    if (!entry)
        entry = &p->threads[p->next++ % PC_PY_THREADS];
    *entry = (struct pc_pythread){.tid = tid, .state = state->address, .native_id = state->native_id};
}

/* Says what the current frame was read from. */
static void depend(struct pc_target_memory *memory, const struct pc_pyoffsets *o, const struct state *state,
                   uint64_t frame) {
    pc_reads_add(memory->reads, state->address + o->thread_native_id, state->native_id);
    pc_reads_add(memory->reads, state->address + o->thread_frame, state->frame);
    if (o->cframe && state->frame)
        pc_reads_add(memory->reads, state->frame + o->cframe_frame, frame);
}

bool pc_pythread_frame(struct pc_pyprocess *p, const struct pc_pycontext *context, uint64_t *frame) {
    struct pc_target_memory *memory = context->memory;
    struct pc_pythread *known = pc_pythread_known(p, context->tid);
    struct state state;
    if (known && read_state(memory, &p->offsets, known->state, &state) &&
        state.native_id == known->native_id) {
        bool found = current_frame(memory, &p->offsets, &state, frame);
        depend(memory, &p->offsets, &state, *frame);
        return found;
    }
    struct search search = {.tid = context->tid, .rsp = context->rsp};
    search_threads(&search, p, memory);
    const struct state *chosen = choose(&search, context->tgid);
    if (!chosen) {
        pc_reads_lost(memory->reads); /* a state may be made at any time */
        return false;
    }
    remember(p, context->tid, chosen);
    bool found = current_frame(memory, &p->offsets, chosen, frame);
    depend(memory, &p->offsets, chosen, *frame);
    return found;
}

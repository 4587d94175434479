/* Processes, their mappings and the capture of one stack: see stacks/capture.h. */
#include "stacks/capture.h"
#include "stacks/intern.h"
#include "stacks/modules/maps.h"
#include "stacks/python/frames.h"
#include "stacks/stable_name.h"
#include "stacks/told/told.h"
#include "stacks/unwind/unwind.h"
#include "trace/writer.h"
#include "trace_format.h"

#include <stdlib.h>

#define PROCESS_SLOTS 1024u
#define USER_CS_64    0x33u
#define FIRST_REACH   2048u
#define MAPS_CAPTURES 1024u /* a library may be replaced by another at its place: seen after so many */

struct process {
    struct process *next;
    pid_t tgid;
    uint64_t lineage;     /* which address space its pointers are of: see stacks/python/code_objects.h */
    struct pc_maps *maps; /* 0: to be read */
    uint64_t captures;
    uint64_t reread_at; /* no new look at the mappings before so many captures */
    uint64_t backoff;
    uint64_t reach; /* bytes above the stack pointer that captures needed lately */
    struct pc_pyprocess python;
    struct pc_told_stack asked; /* for the process, by whoever started it */
};

struct pc_stacks {
    struct pc_writer *writer;
    struct pc_intern *stacks;
    struct pc_pycodes *codes;
    struct pc_rows *rows;
    struct pc_told *told;
    struct pc_modules modules;
    uint64_t lineages;
    bool naming;
    struct pc_stack_names names;
    struct process *processes[PROCESS_SLOTS];
    struct pc_target_memory memory;
    struct pc_unwound native;
    struct pc_frame frames[PC_UNWIND_DEPTH + PC_PY_DEPTH + 2];
};

struct pc_stacks *pc_stacks_new(struct pc_writer *writer) {
    struct pc_stacks *s = calloc(1, sizeof *s);
    if (!s)
        return 0;
    s->writer = writer;
    s->stacks = pc_intern_new(writer, PC_TABLE_STACK);
    s->codes = pc_pycodes_new(writer);
    s->rows = pc_rows_new();
    s->told = pc_told_new(writer);
    if (s->stacks && s->codes && s->rows && s->told)
        return s;
    pc_stacks_free(s);
    return 0;
}

static struct process **find(struct pc_stacks *s, pid_t tgid) {
    struct process **at = &s->processes[(unsigned)tgid % PROCESS_SLOTS];
    while (*at && (*at)->tgid != tgid)
        at = &(*at)->next;
    return at;
}

static struct process *get(struct pc_stacks *s, pid_t tgid) {
    struct process **at = find(s, tgid);
    if (!*at && (*at = calloc(1, sizeof **at))) {
        (*at)->tgid = tgid;
        (*at)->lineage = ++s->lineages;
    }
    return *at;
}

void pc_stacks_gone(struct pc_stacks *s, pid_t tgid) {
    struct process **at = find(s, tgid), *process = *at;
    if (!process)
        return;
    *at = process->next;
    pc_maps_drop(process->maps);
    free(process);
}

void pc_stacks_exec(struct pc_stacks *s, pid_t tgid) {
    const struct process *before = *find(s, tgid);
    struct pc_told_stack asked = before ? before->asked : (struct pc_told_stack){0, 0};
    pc_stacks_gone(s, tgid); /* modules and rows stay: they belong to files, not to processes */
    struct process *after = asked.id ? get(s, tgid) : 0;
    if (after)
        after->asked = asked;
}

void pc_stacks_fork(struct pc_stacks *s, pid_t parent, pid_t thread, pid_t child) {
    pc_stacks_gone(s, child); /* a process id used again */
    struct process *from = *find(s, parent), *to = from ? get(s, child) : 0;
    if (!to)
        return;
    to->lineage = from->lineage;
    to->maps = pc_maps_share(from->maps);
    to->python = from->python;
    pc_told_fork(s->told, from->lineage, thread, child);
    pc_memory_start(&s->memory, thread);
    to->asked = pc_told_by(s->told, (struct pc_teller){from->lineage, thread}, &s->memory);
    if (to->asked.id == 0)
        to->asked = from->asked;
}

void pc_stacks_free(struct pc_stacks *s) {
    if (!s)
        return;
    for (unsigned i = 0; i < PROCESS_SLOTS; i++)
        while (s->processes[i])
            pc_stacks_gone(s, s->processes[i]->tgid);
    pc_rows_free(s->rows);
    pc_told_free(s->told);
    pc_modules_free(&s->modules);
    pc_pycodes_free(s->codes);
    pc_intern_free(s->stacks);
    pc_stack_names_free(&s->names);
    free(s);
}

static bool read_maps(struct pc_stacks *s, struct process *p, pid_t tid) {
    struct pc_maps *fresh = pc_maps_read(&s->modules, tid);
    if (!fresh || (fresh->count == 0 && p->maps)) { /* a process that is about to end has none any more */
        pc_maps_drop(fresh);
        return p->maps != 0;
    }
    pc_maps_drop(p->maps);
    p->maps = fresh;
    if (!p->python.known)
        p->python.looked = false; /* the interpreter may have been loaded since */
    return true;
}

/* Unwinds; if that meets code in no known mapping (a library loaded since), reads the mappings again. Code
 * that is in no file after that either is generated code: the next looks are made ever more rarely. */
static void unwind(struct pc_stacks *s, struct process *p, pid_t tid, const struct user_regs_struct *regs) {
    pc_unwind(s->rows, p->maps, &s->memory, regs, &s->native);
    if (!s->native.lost || p->captures < p->reread_at || !read_maps(s, p, tid))
        return;
    if (s->memory.reads)
        s->memory.reads->count = 0;
    pc_unwind(s->rows, p->maps, &s->memory, regs, &s->native);
    p->backoff = s->native.lost ? p->backoff * 2 + 1 : 0;
    p->reread_at = p->captures + p->backoff;
}

/* One system call fetches all that the last capture of the thread needed: each further one costs as much as
 * the whole walk. */
static void prefetch(struct pc_stacks *s, struct process *p, pid_t tid, uint64_t rsp) {
    struct pc_range ranges[PC_WINDOWS] = {{rsp, p->reach ? p->reach : FIRST_REACH}};
    unsigned count = 1;
    if (p->maps->python)
        count += pc_pyframes_ranges(&p->python, tid, ranges + 1, PC_WINDOWS - 2);
    ranges[count++] = pc_told_range(s->told, (struct pc_teller){p->lineage, tid});
    pc_memory_start(&s->memory, tid);
    pc_memory_fetch(&s->memory, ranges, count);
}

/* Grows at once, shrinks slowly: shallow and deep stacks alternate in most programs. */
static void adapt_reach(struct process *p, uint64_t rsp, uint64_t top) {
    uint64_t needed = top > rsp && top - rsp < PC_WINDOW_BYTES ? ((top - rsp) | 255) + 1 : FIRST_REACH;
    uint64_t shrunk = p->reach - p->reach / 8;
    p->reach = needed > shrunk ? needed : shrunk;
}

static uint32_t module_id(struct pc_stacks *s, struct pc_module *m) {
    if (m->id)
        return m->id;
    size_t path = strlen(m->path) + 1, id = strlen(m->build_id);
    char *text = malloc(path + id);
    if (!text)
        return 0;
    memcpy(text, m->path, path);
    memcpy(text + path, m->build_id, id);
    m->id = pc_writer_entry(s->writer, PC_TABLE_MODULE, text, path + id, 0);
    free(text);
    return m->id;
}

static void emit_native(struct pc_stacks *s) {
    for (unsigned i = 0; i < s->native.count; i++) {
        const struct pc_mapping *mapping = s->native.frames[i].mapping;
        uint32_t ref = mapping->module ? module_id(s, mapping->module) : 0;
        s->frames[i] = (struct pc_frame){PC_FRAME_NATIVE, ref, s->native.frames[i].address - mapping->bias};
    }
}

void pc_stacks_keep_names(struct pc_stacks *s) {
    s->naming = true;
}

uint64_t pc_stacks_name(const struct pc_stacks *s, uint32_t id) {
    return pc_stack_names_get(&s->names, id);
}

/* Names the stack whose frames were just found: `native` of `count` are native ones. */
static uint64_t name_of(const struct pc_stacks *s, unsigned native, unsigned count) {
    uint64_t name = PC_NAME_START;
    for (unsigned i = 0; i < native; i++) {
        const struct pc_module *module = s->native.frames[i].mapping->module;
        if (count > native && pc_is_interpreter(module))
            break; /* the Python frames say it better: the interpreter learns while it runs */
        name = pc_name_native(name, module, s->frames[i].addr);
    }
    for (unsigned i = native; i < count; i++) {
        uint64_t code = pc_pycodes_name(s->codes, s->frames[i].ref);
        if (code == PC_NAME_BORDER)
            break;
        name = pc_name_python(name, code, s->frames[i].addr);
    }
    return name;
}

void pc_stacks_told(struct pc_stacks *s, pid_t tgid, pid_t tid, uint64_t address, const uint8_t *message,
                    size_t length) {
    struct process *p = get(s, tgid);
    if (p)
        pc_told_hear(s->told, (struct pc_teller){p->lineage, tid}, address, message, length);
}

/* How many native frames count where a runtime tells the rest: its own, and code in no file, are as they
 * happen. */
static unsigned before_runtime(const struct pc_unwound *native) {
    for (unsigned i = 0; i < native->count; i++) {
        const struct pc_module *module = native->frames[i].mapping->module;
        if (!module || pc_told_is_runtime(module))
            return i;
    }
    return native->count;
}

uint32_t pc_stack_capture(struct pc_stacks *s, pid_t tgid, pid_t tid, const struct user_regs_struct *regs,
                          struct pc_reads *reads) {
    struct process *p = regs->cs == USER_CS_64 ? get(s, tgid) : 0;
    s->memory.reads = reads;
    if (!p)
        return 0;
    bool due = ++p->captures % MAPS_CAPTURES == 0;
    if ((due || !p->maps) && !read_maps(s, p, tid))
        return 0;
    prefetch(s, p, tid, regs->rsp);
    unwind(s, p, tid, regs);
    adapt_reach(p, regs->rsp, s->native.top);
    struct pc_told_stack here, asked;
    pc_told_now(s->told, (struct pc_teller){p->lineage, tid}, &s->memory, regs, &here, &asked);
    if (here.id || asked.id)
        s->native.count = before_runtime(&s->native);
    else
        asked = p->asked;
    emit_native(s);
    unsigned count = s->native.count;
    if (p->maps->python) {
        struct pc_pycontext context = {s->codes, &s->memory, p->lineage, tgid, tid, regs->rsp};
        count += pc_pyframes(&p->python, p->maps->python, &context, s->frames + count, PC_PY_DEPTH);
    }
    unsigned walked = count;
    if (here.id)
        s->frames[count++] = (struct pc_frame){PC_FRAME_TOLD, here.id, 0};
    if (asked.id)
        s->frames[count++] = (struct pc_frame){PC_FRAME_ASKED, asked.id, 0};
    uint32_t id = count ? pc_intern_id(s->stacks, s->frames, count * sizeof s->frames[0]) : 0;
    if (s->naming && pc_stack_names_get(&s->names, id) == 0) {
        uint64_t name = name_of(s, s->native.count, walked);
        name = here.id ? pc_name_with_told(name, PC_FRAME_TOLD, here.name) : name;
        pc_stack_names_keep(&s->names, id,
                            asked.id ? pc_name_with_told(name, PC_FRAME_ASKED, asked.name) : name);
    }
    return id;
}

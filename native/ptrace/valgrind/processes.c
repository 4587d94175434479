/* Processes inside the Valgrind tool, their pages and their questions: see valgrind/processes.h.
 *
 * A page is shared with a process that runs: what it says is checked, never believed. */
#define _GNU_SOURCE
#include "valgrind/processes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "added_syncs/added.h"
#include "calls/calls.h"
#include "grind/channel.h"
#include "stacks/capture.h"
#include "stacks/reads.h"
#include "valgrind/command.h"
#include "valgrind/log.h"

enum { SLOTS = 256 }; /* of the table of processes */

/* A process whose program is the tool. */
struct process {
    struct process *next;
    pid_t tgid;
    struct pc_channel_page *page; /* NULL: it has not asked yet, all its calls are Valgrind's own */
    uint64_t offset;              /* of the page in the channel */
    uint64_t closed;              /* page->closed, as we know it */
};

struct pc_grind {
    struct pc_recorder *recorder;
    const char *tool;
    struct pc_grind_board boards[PC_GRIND_BOARDS];
    struct stat identity; /* of the tool */
    int channel;
    struct pc_grind_log log;
    uint64_t pages;       /* in the channel */
    uint64_t *free_pages; /* offsets */
    size_t free_count, free_room;
    struct process *processes[SLOTS];
};

static struct process **find(struct pc_grind *grind, pid_t tgid) {
    struct process **at = &grind->processes[(unsigned)tgid % SLOTS];
    while (*at != NULL && (*at)->tgid != tgid)
        at = &(*at)->next;
    return at;
}

static struct process *add(struct pc_grind *grind, pid_t tgid) {
    struct process **at = find(grind, tgid);
    if (*at == NULL && (*at = calloc(1, sizeof(**at))) != NULL)
        (*at)->tgid = tgid;
    return *at;
}

/* Whether the tool is the image of a process. */
static bool runs_tool(const struct pc_grind *grind, pid_t tgid) {
    char link[64];
    struct stat status;
    snprintf(link, sizeof(link), "/proc/%d/exe", tgid);
    return stat(link, &status) == 0 && status.st_ino == grind->identity.st_ino &&
           status.st_dev == grind->identity.st_dev;
}

struct pc_grind *pc_grind_open(struct pc_recorder *recorder, const char *tool,
                               const struct pc_grind_board boards[PC_GRIND_BOARDS], char *error,
                               size_t size) {
    struct pc_grind *grind = calloc(1, sizeof(*grind));
    if (grind == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    grind->recorder = recorder;
    grind->log.file = -1;
    grind->tool = tool;
    memcpy(grind->boards, boards, sizeof(grind->boards));
    grind->channel = memfd_create("powercut-channel", MFD_CLOEXEC);
    bool opened = grind->channel >= 0 && pc_grind_log_open(&grind->log);
    if (opened && stat(tool, &grind->identity) == 0 && access(tool, X_OK) == 0)
        return grind;
    snprintf(error, size, "cannot use the memory tracer %s: %s", tool, strerror(errno));
    pc_grind_free(grind);
    return NULL;
}

void pc_grind_free(struct pc_grind *grind) {
    for (unsigned i = 0; i < SLOTS; i++)
        while (grind->processes[i] != NULL)
            pc_grind_gone(grind, grind->processes[i]->tgid);
    pc_grind_log_close(&grind->log);
    close(grind->channel);
    free(grind->free_pages);
    free(grind);
}

char **pc_grind_command(struct pc_grind *grind, char **argv) {
    struct pc_grind_options options = {
        grind->tool, grind->channel, grind->log.file, grind->recorder->stacks != NULL, {{NULL, 0}}};
    memcpy(options.boards, grind->boards, sizeof(options.boards));
    return pc_grind_make_command(&options, argv);
}

void pc_grind_inherit(const struct pc_grind *grind, int descriptors[PC_KEPT]) {
    descriptors[0] = grind->channel;
    descriptors[1] = grind->log.file;
    for (int i = 0; i < PC_GRIND_BOARDS && grind->boards[i].name != NULL; i++)
        descriptors[2 + i] = grind->boards[i].descriptor;
}

/* The thread that the records before [at] end with; the first record of a run says it, unless the run before
 * was closed while the tool wrote on. */
static uint32_t thread_of(const struct pc_memory *records, uint64_t at) {
    for (uint64_t i = at + 1; i > 0; i--)
        if (records[i - 1].kind == PC_MEMORY_THREAD)
            return (uint32_t)records[i - 1].value;
    return 0;
}

/* How many bytes of the buffer hold records. */
static uint64_t used_of(struct pc_grind *grind, const struct process *process) {
    uint64_t used = __atomic_load_n(&process->page->used, __ATOMIC_ACQUIRE);
    if (used <= PC_CHANNEL_BUFFER && used % sizeof(struct pc_memory) == 0 && used >= process->closed)
        return used;
    pc_note(grind->recorder, NULL,
            "process %d damaged the memory it shares with the tracer; some of its stores are missing",
            process->tgid);
    return process->closed;
}

/* Writes records of a process from `closed` on, as far as `used`, or as a sync is to be put in; false if
 * nothing can be written any more. */
static bool write_records(struct pc_grind *grind, struct process *process, uint64_t used) {
    struct pc_recorder *recorder = grind->recorder;
    const struct pc_memory *records =
        (const struct pc_memory *)((const char *)process->page + PC_CHANNEL_PAGE);
    uint64_t first = process->closed / sizeof(*records), count = used / sizeof(*records) - first;
    struct pc_event event = {.kind = PC_MEMORY, .pid = (uint32_t)process->tgid};
    event.tid = thread_of(records, first);
    if (recorder->added != NULL)
        count = pc_added_scan(recorder->added, recorder, event.pid, event.tid, records + first, count);
    event.length = count * sizeof(*records);
    if (count > 0) {
        event.data = pc_writer_bulk(recorder->writer, records + first, &event.length, sizeof(*records));
        if (event.data == 0)
            return false;
        pc_emit(recorder, &event);
    }
    if (recorder->added != NULL)
        pc_added_put(recorder->added, recorder);
    process->closed += event.length;
    return true;
}

static void close_run(struct pc_grind *grind, struct process *process) {
    if (process->page == NULL)
        return;
    uint64_t used = used_of(grind, process);
    while (process->closed < used && pc_writer_error(grind->recorder->writer) == 0) {
        if (!write_records(grind, process, used))
            break;
    }
    __atomic_store_n(&process->page->closed, process->closed, __ATOMIC_RELEASE);
}

void pc_grind_close_runs(struct pc_grind *grind) {
    for (unsigned i = 0; i < SLOTS; i++)
        for (struct process *process = grind->processes[i]; process != NULL; process = process->next)
            close_run(grind, process);
}

static void drop_page(struct pc_grind *grind, struct process *process) {
    close_run(grind, process);
    if (process->page == NULL)
        return;
    munmap(process->page, PC_CHANNEL_SIZE);
    process->page = NULL;
    if (grind->free_count == grind->free_room) {
        size_t room = grind->free_room * 2 + 8;
        uint64_t *grown = realloc(grind->free_pages, room * sizeof(*grown));
        if (grown == NULL)
            return; /* the page is not used again, no more */
        grind->free_pages = grown;
        grind->free_room = room;
    }
    grind->free_pages[grind->free_count++] = process->offset;
}

/* A process image has started. */
static int64_t hello(struct pc_grind *grind, struct process *process) {
    drop_page(grind, process);
    bool again = grind->free_count > 0;
    uint64_t offset = again ? grind->free_pages[--grind->free_count] : grind->pages * PC_CHANNEL_SIZE;
    if (!again && ftruncate(grind->channel, (off_t)(offset + PC_CHANNEL_SIZE)) != 0)
        return -errno;
    grind->pages += !again;
    void *page =
        mmap(NULL, PC_CHANNEL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, grind->channel, (off_t)offset);
    if (page == MAP_FAILED)
        return -errno;
    memset(page, 0, sizeof(struct pc_channel_page));
    process->page = page;
    process->closed = 0;
    process->offset = offset;
    return (int64_t)offset;
}

static int64_t empty_buffer(struct pc_grind *grind, struct process *process) {
    close_run(grind, process);
    if (pc_writer_error(grind->recorder->writer) != 0)
        return -ENOSPC;
    process->closed = process->page->used = process->page->closed = 0;
    return 0;
}

static void take_registers(const struct pc_guest_registers *guest, struct user_regs_struct *regs) {
    regs->rip = guest->rip;
    regs->rsp = guest->rsp;
    regs->rbp = guest->rbp;
    regs->rbx = guest->rbx;
    regs->r12 = guest->r12;
    regs->r13 = guest->r13;
    regs->r14 = guest->r14;
    regs->r15 = guest->r15;
}

static int64_t stack_of(struct pc_grind *grind, struct process *process, struct pc_thread *thread,
                        uint64_t slot) {
    struct pc_channel_page *page = process->page;
    struct pc_reads reads = {.words = page->words, .room = PC_CHANNEL_WORDS};
    if (slot >= PC_CHANNEL_SLOTS || grind->recorder->stacks == NULL)
        return 0;
    struct user_regs_struct regs = thread->regs;
    take_registers(&page->threads[slot].registers, &regs);
    uint32_t id = pc_stack_capture(grind->recorder->stacks, thread->tgid, thread->tid, &regs, &reads);
    page->word_count = reads.lost ? -1 : reads.count;
    page->uses_rbp = reads.uses_rbp;
    return id;
}

/* Whether mappings of the thread's descriptor count, and of which inode they are. */
static int64_t file_of(struct pc_grind *grind, struct pc_thread *thread, int fd) {
    bool inside = pc_call_target(grind->recorder, thread, fd) == PC_TARGET_FILE;
    bool regular = inside && S_ISREG(thread->call.status.st_mode);
    int64_t inode = regular ? (int64_t)thread->call.status.st_ino : 0;
    pc_call_drop(thread);
    return inode;
}

static int64_t note(struct pc_grind *grind, struct process *process, struct pc_thread *thread) {
    struct pc_channel_page *page = process->page;
    pc_grind_close_runs(grind);
    pc_note(grind->recorder, thread, "%.*s", (int)strnlen(page->text, sizeof(page->text)), page->text);
    return 0;
}

static int64_t answer_to(struct pc_grind *grind, struct process *process, struct pc_thread *thread) {
    uint64_t question = thread->regs.rsi, argument = thread->regs.rdx;
    if (question == PC_REQUEST_HELLO)
        return hello(grind, process);
    if (process->page == NULL)
        return -EINVAL;
    switch (question) {
    case PC_REQUEST_EMPTY:
        return empty_buffer(grind, process);
    case PC_REQUEST_STACK:
        return stack_of(grind, process, thread, argument);
    case PC_REQUEST_NOTE:
        return note(grind, process, thread);
    case PC_REQUEST_FILE:
        return file_of(grind, thread, (int)argument);
    default:
        return -EINVAL;
    }
}

/* The thread's slot in its process's page, NULL: it has none. */
static struct pc_channel_thread *slot_of(const struct process *process, struct pc_thread *thread) {
    struct pc_channel_page *page = process->page;
    if (page == NULL)
        return NULL;
    if (thread->slot < PC_CHANNEL_SLOTS && page->threads[thread->slot].tid == thread->tid)
        return &page->threads[thread->slot];
    for (thread->slot = 0; thread->slot < PC_CHANNEL_SLOTS; thread->slot++)
        if (page->threads[thread->slot].tid == thread->tid)
            return &page->threads[thread->slot];
    return NULL;
}

enum pc_grind_entry pc_grind_entry(struct pc_grind *grind, struct pc_thread *thread, int64_t *answer) {
    struct process *process = *find(grind, thread->tgid);
    bool asks = thread->regs.orig_rax == SYS_prctl && thread->regs.rdi == PC_REQUEST;
    if (process == NULL && asks && runs_tool(grind, thread->tgid))
        process = add(grind, thread->tgid); /* its parent died before it could tell of it */
    if (process == NULL)
        return PC_GRIND_CALL; /* a program that the tool does not run */
    const struct pc_channel_thread *slot = slot_of(process, thread);
    if (slot != NULL && __atomic_load_n(&slot->in_call, __ATOMIC_ACQUIRE) != 0)
        return PC_GRIND_CALL;
    if (!asks)
        return PC_GRIND_OWN;
    *answer = answer_to(grind, process, thread);
    return PC_GRIND_ANSWERED;
}

void pc_grind_registers(struct pc_grind *grind, const struct pc_thread *thread,
                        struct user_regs_struct *regs) {
    const struct process *process = *find(grind, thread->tgid);
    const struct pc_channel_thread *slot =
        process != NULL ? slot_of(process, (struct pc_thread *)thread) : NULL;
    if (slot != NULL)
        take_registers(&slot->registers, regs);
}

void pc_grind_fork(struct pc_grind *grind, pid_t parent, pid_t child) {
    if (*find(grind, parent) != NULL)
        add(grind, child);
}

void pc_grind_gone(struct pc_grind *grind, pid_t tgid) {
    struct process **at = find(grind, tgid), *process = *at;
    pc_grind_log_tell(&grind->log, grind->recorder);
    if (process == NULL)
        return;
    drop_page(grind, process);
    *at = process->next;
    free(process);
}

void pc_grind_exec(struct pc_grind *grind, pid_t tgid, char *program, size_t size) {
    pc_grind_gone(grind, tgid);
    if (!runs_tool(grind, tgid))
        return;
    add(grind, tgid);
    pc_grind_read_command(tgid, program, size);
}

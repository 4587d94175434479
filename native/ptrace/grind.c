/* Processes inside the Valgrind tool, their pages and their questions: see grind.h.
 *
 * A page is shared with a process that runs: what it says is checked, never believed. */
#define _GNU_SOURCE
#include "grind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../grind/channel.h"
#include "calls.h"
#include "grind_log.h"
#include "reads.h"
#include "stack.h"
#include "start.h"

enum {
    SLOTS = 256,  /* of the table of processes */
    OPTIONS = 16, /* of the tool */
};

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
    struct stat identity; /* of the tool */
    int channel;
    struct pc_grind_log log;
    uint64_t pages;       /* in the channel */
    uint64_t *free_pages; /* offsets */
    size_t free_count, free_room;
    struct process *processes[SLOTS];
    char options[OPTIONS][128];
};

static struct process **find(struct pc_grind *grind, pid_t tgid) {
    struct process **at = &grind->processes[(unsigned)tgid % SLOTS];
    while (*at != NULL && (*at)->tgid != tgid)
        at = &(*at)->next;
    return at;
}

static void add(struct pc_grind *grind, pid_t tgid) {
    struct process **at = find(grind, tgid);
    if (*at == NULL && (*at = calloc(1, sizeof(**at))) != NULL)
        (*at)->tgid = tgid;
}

struct pc_grind *pc_grind_open(struct pc_recorder *recorder, const char *tool, char *error, size_t size) {
    struct pc_grind *grind = calloc(1, sizeof(*grind));
    if (grind == NULL)
        return NULL;
    grind->recorder = recorder;
    grind->tool = tool;
    grind->channel = memfd_create("powercut-channel", MFD_CLOEXEC);
    /* A process that has made a user namespace (view.h) is closed to all others: then nobody could open what
     * is named by our descriptors. */
    (void)prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
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
    unsigned count = 0, options = 0;
    while (argv[count] != NULL)
        count++;
    char **command = calloc(count + OPTIONS + 2, sizeof(*command));
    if (command == NULL)
        return NULL;
    /* Files by their descriptors here: they can be reached from any mount namespace. The ticket lock of
     * Valgrind's scheduler uses futexes; the other one writes to a pipe, and each write would be a stop. */
    int own = (int)getpid();
    const char *fixed[] = {
        "--command-line-only=yes", "--tool=powercut-grind", "-q", "--vgdb=no", "--sigill-diagnostics=no",
        "--trace-children=yes",    "--fair-sched=try"};
    for (; options < sizeof(fixed) / sizeof(fixed[0]); options++)
        snprintf(grind->options[options], sizeof(grind->options[0]), "%s", fixed[options]);
    snprintf(grind->options[options++], sizeof(grind->options[0]), "--messages=/proc/%d/fd/%d", own,
             grind->log.file);
    snprintf(grind->options[options++], sizeof(grind->options[0]), "--channel=/proc/%d/fd/%d", own,
             grind->channel);
    snprintf(grind->options[options++], sizeof(grind->options[0]), "--stacks=%s",
             grind->recorder->stacks != NULL ? "yes" : "no");
    command[0] = (char *)grind->tool;
    for (unsigned i = 0; i < options; i++)
        command[1 + i] = grind->options[i];
    command[1 + options] = "--";
    memcpy(command + 2 + options, argv, count * sizeof(*argv));
    return command;
}

/* The thread that the records before [at] end with; the first record of a run says it, unless the run before
 * was closed while the tool wrote on. */
static uint32_t thread_of(const struct pc_memory *records, uint64_t at) {
    for (uint64_t i = at + 1; i > 0; i--)
        if (records[i - 1].kind == PC_MEMORY_THREAD)
            return (uint32_t)records[i - 1].value;
    return 0;
}

static void close_run(struct pc_grind *grind, struct process *process) {
    if (process->page == NULL)
        return;
    uint64_t used = __atomic_load_n(&process->page->used, __ATOMIC_ACQUIRE);
    if (used > PC_CHANNEL_ROOM || used % sizeof(struct pc_memory) != 0 || used < process->closed) {
        pc_note(grind->recorder, NULL,
                "process %d has damaged the memory it shares with the tracer: some of "
                "its stores are lost",
                process->tgid);
        used = process->closed;
    }
    if (used == process->closed)
        return;
    const struct pc_memory *records =
        (const struct pc_memory *)((const char *)process->page + PC_CHANNEL_PAGE);
    struct pc_event event = {.kind = PC_MEMORY, .pid = (uint32_t)process->tgid};
    event.tid = thread_of(records, process->closed / sizeof(*records));
    event.length = used - process->closed;
    event.data =
        pc_writer_bulk(grind->recorder->writer, (const char *)records + process->closed, event.length);
    if (event.data != 0)
        pc_emit(grind->recorder, &event);
    process->closed = used;
    __atomic_store_n(&process->page->closed, used, __ATOMIC_RELEASE);
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

static int64_t empty_room(struct pc_grind *grind, struct process *process) {
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
    if (question == PC_ASK_HELLO)
        return hello(grind, process);
    if (process->page == NULL)
        return -EINVAL;
    switch (question) {
    case PC_ASK_ROOM:
        return empty_room(grind, process);
    case PC_ASK_STACK:
        return stack_of(grind, process, thread, argument);
    case PC_ASK_NOTE:
        return note(grind, process, thread);
    case PC_ASK_FILE:
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
    if (process == NULL)
        return PC_GRIND_CALL; /* a program that the tool does not run */
    const struct pc_channel_thread *slot = slot_of(process, thread);
    if (slot != NULL && __atomic_load_n(&slot->in_call, __ATOMIC_ACQUIRE) != 0)
        return PC_GRIND_CALL;
    if (thread->regs.orig_rax != SYS_prctl || thread->regs.rdi != PC_ASK)
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

/* The program in the tool's command line: the first word that is no option, or said in one (program.c). */
static void guest_program(pid_t tgid, char *program, size_t size) {
    static const char said[] = "--program-file=/";
    char name[64], line[8192];
    const char *instead = NULL;
    snprintf(name, sizeof(name), "/proc/%d/cmdline", tgid);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t length = read(file, line, sizeof(line) - 1);
    close(file);
    line[length < 0 ? 0 : length] = '\0';
    const char *word = line + strlen(line) + 1;
    for (; word < line + length && word[0] == '-'; word += strlen(word) + 1)
        if (strncmp(word, said, sizeof(said) - 1) == 0)
            instead = word + sizeof(said) - 2;
    if (word >= line + length)
        return;
    if (instead != NULL)
        word = instead;
    char path[PATH_MAX], real[PATH_MAX];
    if (!pc_start_find(word, path, sizeof(path)))
        snprintf(path, sizeof(path), "%s", word);
    if (path[0] != '/') {
        char relative[PATH_MAX];
        memcpy(relative, path, sizeof(path));
        snprintf(path, sizeof(path), "/proc/%d/cwd/%.4000s", tgid, relative);
    }
    snprintf(program, size, "%s", realpath(path, real) != NULL ? real : word);
}

void pc_grind_exec(struct pc_grind *grind, pid_t tgid, char *program, size_t size) {
    struct stat status;
    bool is_tool = stat(program, &status) == 0 && status.st_ino == grind->identity.st_ino &&
                   status.st_dev == grind->identity.st_dev;
    pc_grind_gone(grind, tgid);
    if (!is_tool)
        return;
    add(grind, tgid);
    guest_program(tgid, program, size);
}

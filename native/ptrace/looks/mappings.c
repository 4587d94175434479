/* What can take a page out of a page table, and what is done before it:
 *
 *   - a call of the process itself: munmap, mremap, madvise, mmap to a fixed place. The pages are written
 *     down first. If another thread could touch one more in between, the files count as read in full;
 *   - a call of any process that takes the page from the file: truncate, open, fallocate, madvise. The same,
 *     and files that other processes have mapped count as read in full;
 *   - the end of the process: by exit, as above; by exec, or by a signal, which nobody sees coming: its files
 *     count as read in full;
 *   - the kernel, for want of memory: it counts the pages it looks at. A run during which it did is not
 *     understood.
 *
 * A process that is forked inherits mappings that nobody sees it make: what the parent has mapped then counts
 * as read in full. One that shares the memory of its parent until it executes (vfork) is told by kcmp. */
#define _GNU_SOURCE
#include "looks/mappings.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loads/tell.h"
#include "looks/held_thread.h"
#include "looks/lone_pages.h"
#include "looks/looks.h"
#include "looks/page_tables.h"

enum { MOST = 64, PAGE = 4096 };

/* A file that a process may have mapped; until that has ended, or the file was written down as a whole. */
struct followed {
    pid_t tgid;
    struct stat file;
    uint64_t start, length; /* where; 0: not known */
};

struct pc_mappings {
    struct followed followed[MOST];
    size_t count;
    struct pc_number_set whole;    /* inodes of files that count as read in full */
    struct pc_number_set vforkers; /* processes that lent their memory to a child */
    uint64_t scanned;              /* pc_pages_scanned at the first mapping */
    bool begun;
    bool told;             /* the program runs inside powercut-loads */
    bool not_alone;        /* processes share memory and nobody can tell which */
    struct followed *held; /* the mapping that the thread at hand is making, NULL: it makes none */
    struct pc_grip grip;
    struct pc_lone_pages lone_pages;
};

struct pc_mappings *pc_mappings_new(struct pc_recorder *recorder, uint64_t secret, bool told) {
    if (!told && !pc_pages_stay(recorder->dir))
        return NULL;
    struct pc_mappings *mappings = calloc(1, sizeof(*mappings));
    if (mappings != NULL) {
        mappings->told = told;
        mappings->lone_pages = (struct pc_lone_pages){.secret = secret, .userfault = -1};
    }
    return mappings;
}

static void write_whole(struct pc_recorder *recorder, const struct stat *file) {
    if (pc_number_set_add(&recorder->mappings->whole, file->st_ino))
        pc_look(recorder, file, PC_LOOK_DATA, 0, PC_LOOK_ALL);
}

static void forget(struct pc_mappings *mappings, size_t number) {
    mappings->followed[number] = mappings->followed[--mappings->count];
}

static void forget_process(struct pc_mappings *mappings, pid_t tgid) {
    for (size_t i = mappings->count; i-- > 0;) {
        if (mappings->followed[i].tgid == tgid)
            forget(mappings, i);
    }
}

/* What is mapped by a process, or by all others, counts as read in full. */
static void give_up_some(struct pc_recorder *recorder, pid_t tgid, bool others) {
    struct pc_mappings *mappings = recorder->mappings;
    for (size_t i = mappings->count; i-- > 0;) {
        if ((mappings->followed[i].tgid == tgid) != others) {
            write_whole(recorder, &mappings->followed[i].file);
            forget(mappings, i);
        }
    }
}

static void give_up(struct pc_recorder *recorder) {
    give_up_some(recorder, 0, true);
}

/* Whether a process has its memory for itself. One that lent it to a child waits until it has it back. */
static bool owns_memory(const struct pc_mappings *mappings, pid_t tgid) {
    const struct pc_number_set *vforkers = &mappings->vforkers;
    for (size_t i = 0; i < vforkers->size; i++) {
        pid_t other = (pid_t)vforkers->slots[i];
        if (other == 0 || other == tgid)
            continue;
        long order = syscall(SYS_kcmp, tgid, other, KCMP_VM, 0, 0);
        if (order == 0 || (order < 0 && errno != ESRCH))
            return false;
    }
    return !mappings->not_alone;
}

/* The process of a thread, if nothing else runs in its memory; 0 otherwise. */
static pid_t lone_process(const struct pc_mappings *mappings, pid_t tid) {
    pid_t tgid;
    unsigned threads;
    bool alone = pc_process_of(tid, &tgid, &threads) && threads == 1 && owns_memory(mappings, tgid);
    return alone ? tgid : 0;
}

static bool may_overlap(const struct pc_mappings *mappings, uint64_t start, uint64_t length) {
    for (size_t i = 0; i < mappings->count; i++) {
        const struct followed *mapping = &mappings->followed[i];
        if (mapping->length == 0 ||
            (start < mapping->start + mapping->length && mapping->start < start + length))
            return true;
    }
    return false;
}

/* The thread is about to take pages out of its memory. */
static void before_loss(struct pc_recorder *recorder, pid_t tid) {
    pid_t tgid = lone_process(recorder->mappings, tid);
    if (tgid == 0 || !pc_pages_write(recorder, tgid))
        give_up(recorder);
}

/* The thread is about to take pages from a file, hence from whoever has it mapped. */
static void before_cut(struct pc_recorder *recorder, pid_t tid) {
    before_loss(recorder, tid);
    give_up_some(recorder, lone_process(recorder->mappings, tid), true);
}

static void before_exit(struct pc_recorder *recorder, pid_t tid, bool all_threads) {
    struct pc_mappings *mappings = recorder->mappings;
    pid_t tgid;
    unsigned threads;
    if (!pc_process_of(tid, &tgid, &threads) || (threads > 1 && !all_threads))
        return; /* whatever this is the end of, it is not seen to have ended */
    if (threads > 1 || !owns_memory(mappings, tgid) || !pc_pages_write(recorder, tgid))
        give_up_some(recorder, tgid, false);
    forget_process(mappings, tgid);
}

static uint64_t clone_flags(const struct pc_thread *thread) {
    uint64_t flags;
    switch (thread->call.number) {
    case SYS_fork:
        return 0;
    case SYS_vfork:
        return CLONE_VM | CLONE_VFORK;
    case SYS_clone:
        return thread->call.arg[0];
    default: /* clone3; what cannot be read is the worst */
        return pc_peek(thread, thread->call.arg[0], &flags, sizeof(flags)) == sizeof(flags) ? flags
                                                                                            : CLONE_VM;
    }
}

static void before_clone(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    uint64_t flags = clone_flags(thread);
    pid_t tgid;
    unsigned threads;
    if ((flags & CLONE_THREAD) != 0)
        return;
    if ((flags & CLONE_VM) == 0 && lone_process(mappings, thread->tid) != 0)
        give_up(recorder);
    else if ((flags & (CLONE_VM | CLONE_VFORK)) == (CLONE_VM | CLONE_VFORK) &&
             pc_process_of(thread->tid, &tgid, &threads))
        pc_number_set_add(&mappings->vforkers, (uint64_t)tgid);
    else { /* what another thread maps before the call is done would be inherited, too */
        mappings->not_alone = true;
        give_up(recorder);
    }
}

/* Its arguments may lie in the pages themselves. */
static void before_exec(struct pc_recorder *recorder, pid_t tid) {
    pid_t tgid;
    unsigned threads;
    bool known = pc_process_of(tid, &tgid, &threads);
    give_up_some(recorder, known ? tgid : 0, !known);
}

/* A name that lies in a page which is about to go is read before. */
static void before_named_cut(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t address) {
    char name[PATH_MAX];
    (void)pc_peek_string(thread, address, name, sizeof(name));
    before_cut(recorder, thread->tid);
}

/* Calls that take pages from files, or end processes; others are done with. */
static void before_others(struct pc_recorder *recorder, struct pc_thread *thread) {
    const uint64_t *arg = thread->call.arg;
    switch (thread->call.number) {
    case SYS_ftruncate:
        return before_cut(recorder, thread->tid);
    case SYS_fallocate:
        if ((arg[1] & ~(uint64_t)FALLOC_FL_KEEP_SIZE) != 0)
            before_cut(recorder, thread->tid);
        return;
    case SYS_truncate:
    case SYS_creat:
        return before_named_cut(recorder, thread, arg[0]);
    case SYS_open:
        if ((arg[1] & O_TRUNC) != 0)
            before_named_cut(recorder, thread, arg[0]);
        return;
    case SYS_openat:
        if ((arg[2] & O_TRUNC) != 0)
            before_named_cut(recorder, thread, arg[1]);
        return;
    case SYS_openat2: /* its flags may lie in the pages that it takes */
        return give_up(recorder);
    case SYS_exit:
    case SYS_exit_group:
        return before_exit(recorder, thread->tid, thread->call.number == SYS_exit_group);
    default:
        return;
    }
}

/* Calls that may take pages out of page tables. */
static void before_taking(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    const uint64_t *arg = thread->call.arg;
    switch (thread->call.number) {
    case SYS_munmap:
        if (may_overlap(mappings, arg[0], arg[1]))
            before_loss(recorder, thread->tid);
        return;
    case SYS_mmap:
        if ((arg[3] & MAP_FIXED) != 0 && may_overlap(mappings, arg[0], arg[1]))
            before_loss(recorder, thread->tid);
        return;
    case SYS_mremap: /* a mapping that moves or grows is somewhere else, and shows more of its file */
        if (may_overlap(mappings, arg[0], arg[1] + 1) || (arg[3] & MREMAP_FIXED) != 0)
            give_up(recorder);
        return;
    case SYS_madvise:
        if (may_overlap(mappings, arg[0], arg[1]))
            before_cut(recorder, thread->tid); /* it may be that of the file */
        return;
    default:
        if (mappings->count > 0)
            before_others(recorder, thread);
    }
}

void pc_mappings_before(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    if (mappings == NULL)
        return;
    switch (thread->call.number) {
    case SYS_clone:
    case SYS_clone3:
    case SYS_fork:
    case SYS_vfork:
        return before_clone(recorder, thread);
    case SYS_execve:
    case SYS_execveat:
        return before_exec(recorder, thread->tid);
    default:
        if (!mappings->told)
            before_taking(recorder, thread);
    }
}

bool pc_mappings_begin(struct pc_recorder *recorder, struct pc_thread *thread, const struct stat *status,
                       uint64_t offset, uint64_t length) {
    struct pc_mappings *mappings = recorder->mappings;
    if (mappings == NULL || status->st_dev != recorder->dir_dev || !S_ISREG(status->st_mode))
        return false;
    pid_t tgid = lone_process(mappings, thread->tid);
    if (!mappings->told)
        mappings->begun = mappings->begun || pc_pages_scanned(&mappings->scanned);
    if ((!mappings->told && !mappings->begun) || mappings->count == MOST || tgid == 0)
        write_whole(recorder, status);
    if (pc_number_set_has(&mappings->whole, status->st_ino))
        return true;
    uint64_t end = ((uint64_t)status->st_size + PAGE - 1) / PAGE * PAGE;
    if (offset + length > end) /* behind its end a file has no pages to touch: it ends before */
        pc_look(recorder, status, PC_LOOK_DATA, offset > end ? offset : end,
                offset > end ? length : offset + length - end);
    struct followed *mapping = &mappings->followed[mappings->count++];
    *mapping = (struct followed){.tgid = tgid, .file = *status};
    mappings->held = mappings->told ? NULL : mapping;
    return true;
}

void pc_mappings_hold(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    if (mappings != NULL && mappings->held != NULL && !pc_hold(&mappings->grip, thread->tid))
        mappings->held = NULL;
}

void pc_mappings_let_go(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    int64_t address;
    if (mappings == NULL || mappings->held == NULL)
        return;
    struct followed *mapping = mappings->held;
    mappings->held = NULL;
    bool held = pc_held(&mappings->grip, &address);
    if (held && address < 0 && address > -PAGE) { /* it was refused */
        forget(mappings, (size_t)(mapping - mappings->followed));
    } else if (held) {
        mapping->start = (uint64_t)address;
        mapping->length = (thread->call.arg[1] + PAGE - 1) / PAGE * PAGE;
        pc_lone_pages_set(&mappings->lone_pages, &mappings->grip, thread, mapping->tgid, mapping->start,
                          mapping->length);
    }
    if (held && !mappings->grip.ended)
        pc_release(&mappings->grip);
    if (mappings->grip.ended && thread->tid == recorder->program)
        recorder->ended = mappings->grip.status;
}

static void write_words(struct pc_recorder *recorder, const struct pc_told_page *page) {
    struct pc_event event = {.kind = PC_LOOK_WORDS, .inode = page->inode};
    event.offset = page->offset;
    event.length = sizeof(page->words);
    event.data = pc_writer_blob(recorder->writer, page->words, sizeof(page->words));
    pc_emit(recorder, &event);
}

void pc_mappings_tell(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_mappings *mappings = recorder->mappings;
    const uint64_t *arg = thread->call.arg;
    struct pc_told_page pages[64];
    pid_t tgid;
    unsigned threads;
    if (mappings == NULL || !mappings->told || arg[0] != mappings->lone_pages.secret)
        return; /* it is no call at all */
    for (uint64_t done = 0, count; done < arg[2]; done += count) {
        count = arg[2] - done < 64 ? arg[2] - done : 64;
        size_t length = count * sizeof(pages[0]);
        if (pc_peek(thread, arg[1] + done * sizeof(pages[0]), pages, length) != length)
            return; /* not told */
        for (uint64_t i = 0; i < count; i++)
            write_words(recorder, &pages[i]);
    }
    if (arg[3] != 0 && pc_process_of(thread->tid, &tgid, &threads))
        forget_process(mappings, tgid);
}

void pc_mappings_end(struct pc_recorder *recorder) {
    struct pc_mappings *mappings = recorder->mappings;
    uint64_t now;
    if (mappings == NULL)
        return;
    give_up(recorder);
    if (mappings->begun && (!pc_pages_scanned(&now) || now != mappings->scanned))
        pc_note(recorder, NULL, "memory was low while it ran");
    pc_lone_pages_end(&mappings->lone_pages);
    pc_number_set_free(&mappings->whole);
    pc_number_set_free(&mappings->vforkers);
    free(mappings);
    recorder->mappings = NULL;
}

#define _GNU_SOURCE
#include "segments.h"

#include "complain.h"
#include "log_format.h"
#include "real.h"

#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/single_threaded.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORD = 8, PAGE = 4096 };
enum { PATIENCE = 100, PATIENCE_MOST = 500, NAP = 2 }; /* milliseconds */

struct segment {
    char *at; /* NULL: it is no longer in memory; this structure stays, since a thread may still look at it */
    uint32_t salt;
    uint64_t first;         /* its sequence numbers begin there: one for each word */
    _Atomic uint64_t taken; /* bytes given to threads; beyond the size: it is full */
    struct segment *older;  /* that is full, and in memory still */
};

/* Writers are found by who wants to know whether a segment is needed. They are never given back. */
struct pc_writer {
    _Alignas(64) _Atomic(struct segment *) needs;
    _Atomic bool has_thread;
    struct pc_writer *next;
};

static int folder = -1;
static bool is_persistent; /* a fence is enough for what was streamed */
static uint64_t first, next;
static uint64_t next_sequence;
static _Atomic(struct segment *) current;
static struct segment *full; /* those in memory, the newest first */
static _Atomic(struct pc_writer *) writers;
static pthread_mutex_t turning = PTHREAD_MUTEX_INITIALIZER;

/* The supervisor makes segments ahead, on another core: the next one, if it is there. */
static int take_ready(const char *name) {
    char ready[32];
    struct stat facts;
    snprintf(ready, sizeof ready, "%llu.ready", (unsigned long long)next);
    if (renameat2(folder, ready, folder, name, RENAME_NOREPLACE) != 0)
        return -1;
    int file = openat(folder, name, O_RDWR | O_CLOEXEC);
    if (file >= 0 && fstat(file, &facts) == 0 && facts.st_size == PC_GUARD_SEGMENT)
        return file;
    if (file >= 0)
        close(file);
    unlinkat(folder, name, 0);
    return -1;
}

/* Any other; -1, and why in errno. */
static int make_segment(const char *name) {
    int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return -1;
    int failed = posix_fallocate(file, 0, PC_GUARD_SEGMENT);
    if (!failed)
        return file;
    close(file);
    unlinkat(folder, name, 0);
    errno = failed;
    return -1;
}

/* The head of a segment. In persistent memory it and the file's name are durable before any record is, since
 * none counts without them. */
static uint32_t begin(char *at, int file) {
    struct pc_guard_segment head = {.magic = PC_GUARD_MAGIC,
                                    .version = PC_GUARD_VERSION,
                                    .size = PC_GUARD_SEGMENT,
                                    .number = next,
                                    .run = first,
                                    .first = next_sequence};
    if (getrandom(&head.salt, sizeof head.salt, 0) != sizeof head.salt)
        head.salt = (uint32_t)time(NULL);
    memcpy(at, &head, sizeof head);
    is_persistent = pc_real_is_persistent(at, PC_GUARD_SEGMENT);
    if (is_persistent) {
        fsync(file);
        fsync(folder);
    }
    return head.salt;
}

/* A load brings pages with it that lie around it; a store would bring its own page only, and MAP_POPULATE,
 * which loads, too, takes twice as long. */
static char *map(int file) {
    char *at = pc_real_mmap(NULL, PC_GUARD_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    for (size_t page = 0; at != MAP_FAILED && page < PC_GUARD_SEGMENT; page += PAGE)
        (void)*(volatile const char *)(at + page);
    return at;
}

/* A new, empty segment in the place of the current one. */
static bool turn(void) {
    char name[32];
    snprintf(name, sizeof name, "%llu.segment", (unsigned long long)next);
    int file = take_ready(name);
    if (file < 0 && (file = make_segment(name)) < 0) {
        complain("the checkpoint log cannot grow: %s; the program continues without it [guard-log-full]",
                 strerror(errno));
        return false;
    }
    char *at = map(file);
    struct segment *segment = calloc(1, sizeof *segment);
    if (at == MAP_FAILED || !segment) {
        complain("no memory for the checkpoint log; the program continues without it [guard-log-full]");
        close(file);
        return false;
    }
    segment->salt = begin(at, file);
    close(file);
    segment->at = at;
    segment->first = next_sequence;
    segment->taken = sizeof(struct pc_guard_segment);
    next++;
    next_sequence += PC_GUARD_SEGMENT / WORD;
    atomic_store(&current, segment);
    return true;
}

static bool is_needed(const struct segment *segment) {
    for (struct pc_writer *writer = atomic_load(&writers); writer; writer = writer->next)
        if (atomic_load(&writer->needs) == segment)
            return true;
    return false;
}

/* Full segments that nobody needs any more are complete: their heads say so, and they leave memory. */
static void complete_full(void) {
    for (struct segment **link = &full, *segment; (segment = *link);) {
        if (is_needed(segment)) {
            link = &segment->older;
            continue;
        }
        struct pc_guard_segment *head = (struct pc_guard_segment *)segment->at;
        __atomic_store_n(&head->state, PC_GUARD_COMPLETE, __ATOMIC_RELEASE);
        pc_real_munmap(segment->at, PC_GUARD_SEGMENT);
        segment->at = NULL;
        *link = segment->older;
    }
}

/* The supervisor makes the log smaller meanwhile. Where it cannot keep pace, it holds a lock until it has
 * caught up: without it the log would grow for as long as the program writes. If it is killed, so is its
 * lock; and a program that waited as long as the supervisor asks for (in the file) goes on. */
static void be_patient(void) {
    int brake = openat(folder, "brake", O_RDONLY | O_CLOEXEC);
    uint32_t asked = PATIENCE;
    const struct timespec nap = {.tv_nsec = NAP * 1000000L};
    if (brake < 0)
        return;
    if (pread(brake, &asked, sizeof asked, 0) != sizeof asked)
        asked = PATIENCE;
    for (int left = asked < PATIENCE_MOST ? (int)asked : PATIENCE_MOST;
         left > 0 && flock(brake, LOCK_SH | LOCK_NB) != 0; left -= NAP)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
    close(brake);
}

/* A writer met the end of a segment. All who got room there said before that they need it. */
static void leave_full(struct segment *segment) {
    pthread_mutex_lock(&turning);
    if (atomic_load(&current) == segment) {
        be_patient();
        if (!turn())
            atomic_store(&current, NULL);
        segment->older = full;
        full = segment;
    }
    complete_full();
    pthread_mutex_unlock(&turning);
}

struct pc_writer *pc_writer_begin(void) {
    for (struct pc_writer *writer = atomic_load(&writers); writer; writer = writer->next)
        if (!atomic_exchange(&writer->has_thread, true))
            return writer;
    struct pc_writer *writer = aligned_alloc(_Alignof(struct pc_writer), sizeof *writer);
    if (!writer)
        return NULL;
    *writer = (struct pc_writer){.has_thread = true, .next = atomic_load(&writers)};
    while (!atomic_compare_exchange_weak(&writers, &writer->next, writer))
        ;
    return writer;
}

void pc_writer_end(struct pc_writer *writer) {
    atomic_store(&writer->has_thread, false);
}

/* The only locked instruction on the way of a record: for all other threads it comes after the store of
 * `needs`. While there are none, it need not be one. */
static uint64_t take(struct segment *segment, uint64_t bytes) {
    if (!__libc_single_threaded)
        return atomic_fetch_add(&segment->taken, bytes);
    uint64_t from = atomic_load_explicit(&segment->taken, memory_order_relaxed);
    atomic_store_explicit(&segment->taken, from + bytes, memory_order_relaxed);
    return from;
}

bool pc_room_take(struct pc_writer *writer, uint64_t bytes, struct pc_room *room) {
    for (struct segment *segment; (segment = atomic_load(&current));) {
        atomic_store_explicit(&writer->needs, segment, memory_order_relaxed);
        uint64_t from = take(segment, bytes);
        if (from + bytes <= PC_GUARD_SEGMENT) {
            *room = (struct pc_room){segment->at + from, segment->first + from / WORD, segment->salt};
            return true;
        }
        atomic_store(&writer->needs, NULL);
        leave_full(segment);
    }
    return false;
}

/* Who is done with a segment that was left meanwhile looks whether it was the last one: at the latest this is
 * seen when the next is left. */
void pc_room_done(struct pc_writer *writer) {
    struct segment *segment = atomic_load_explicit(&writer->needs, memory_order_relaxed);
    _mm_sfence();
    atomic_store_explicit(&writer->needs, NULL, memory_order_release);
    struct segment *now = atomic_load_explicit(&current, memory_order_relaxed);
    if (segment && now && segment != now) { /* without one now, this may be a forked child */
        pthread_mutex_lock(&turning);
        complete_full();
        pthread_mutex_unlock(&turning);
    }
}

void pc_segments_sync(void) {
    struct segment *segment = atomic_load(&current);
    _mm_sfence();
    if (segment && !is_persistent)
        syscall(SYS_msync, segment->at, PC_GUARD_SEGMENT, MS_SYNC);
    fsync(folder);
}

bool pc_segments_are_open(void) {
    return atomic_load(&current) != NULL;
}

void pc_segments_leave(void) {
    atomic_store(&current, NULL);
}

bool pc_segments_open(int in, uint64_t number, uint64_t sequence) {
    folder = in;
    first = next = number;
    next_sequence = sequence;
    return turn();
}

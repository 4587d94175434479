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
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct pc_segment {
    char *at;
    uint32_t salt;
    _Atomic uint64_t taken; /* bytes given to threads; beyond the size: it is full */
    _Atomic uint64_t done;  /* bytes they are done with */
    _Atomic uint64_t full;  /* bytes it has in the end, 0: not known yet */
    atomic_flag
        gone; /* it is no longer in memory; this structure stays, since a thread may still look at it */
};

static int folder = -1;
static bool is_persistent; /* a fence is enough for what was streamed */
static uint64_t first, next;
static _Atomic uint64_t next_sequence;
static _Atomic(struct pc_segment *) current;
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
                                    .first = atomic_load(&next_sequence)};
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

/* A new, empty segment in the place of the current one. */
static bool turn(void) {
    char name[32];
    snprintf(name, sizeof name, "%llu.segment", (unsigned long long)next);
    int file = take_ready(name);
    if (file < 0 && (file = make_segment(name)) < 0) {
        complain("the checkpoint log cannot grow: %s; the program goes on without it [guard-log-full]",
                 strerror(errno));
        return false;
    }
    /* All pages at once: one by one they cost several times as much. */
    char *at =
        pc_real_mmap(NULL, PC_GUARD_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
    struct pc_segment *segment = calloc(1, sizeof *segment);
    if (at == MAP_FAILED || !segment) {
        complain(
            "there is no memory for the checkpoint log; the program goes on without it [guard-log-full]");
        close(file);
        return false;
    }
    segment->salt = begin(at, file);
    close(file);
    segment->at = at;
    segment->taken = segment->done = sizeof(struct pc_guard_segment);
    next++;
    atomic_store(&current, segment);
    return true;
}

/* The last one who needs a full segment says in its head that it is complete, and takes it out of memory. */
void pc_segment_give_back(struct pc_segment *segment, uint64_t bytes) {
    uint64_t done = atomic_fetch_add(&segment->done, bytes) + bytes;
    if (done != atomic_load(&segment->full) || atomic_flag_test_and_set(&segment->gone))
        return;
    struct pc_guard_segment *head = (struct pc_guard_segment *)segment->at;
    __atomic_store_n(&head->state, PC_GUARD_COMPLETE, __ATOMIC_RELEASE);
    pc_real_munmap(segment->at, PC_GUARD_SEGMENT);
}

static void seal(struct pc_segment *segment, uint64_t bytes) {
    atomic_store(&segment->full, bytes);
    pc_segment_give_back(segment, 0);
}

char *pc_segment_take(uint64_t bytes, struct pc_segment **of) {
    for (;;) {
        struct pc_segment *segment = atomic_load(&current);
        if (!segment)
            return NULL;
        uint64_t from = atomic_fetch_add(&segment->taken, bytes);
        *of = segment;
        if (from + bytes <= PC_GUARD_SEGMENT)
            return segment->at + from;
        pthread_mutex_lock(&turning);
        if (atomic_load(&current) == segment && !turn())
            atomic_store(&current, NULL);
        pthread_mutex_unlock(&turning);
        if (from <= PC_GUARD_SEGMENT)
            seal(segment, from);
    }
}

uint32_t pc_segment_salt(const struct pc_segment *segment) {
    return segment->salt;
}

void pc_segments_sync(void) {
    struct pc_segment *segment = atomic_load(&current);
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

uint64_t pc_segments_number(uint64_t count) {
    return atomic_fetch_add(&next_sequence, count);
}

bool pc_segments_open(int in, uint64_t number, uint64_t sequence) {
    folder = in;
    first = next = number;
    next_sequence = sequence;
    return turn();
}

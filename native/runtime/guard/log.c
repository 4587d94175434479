#define _GNU_SOURCE
#include "log.h"

#include "checksum.h"
#include "complain.h"
#include "real.h"

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
#include <time.h>
#include <unistd.h>

struct segment {
    char *at;
    uint32_t salt;
    _Atomic uint64_t taken; /* bytes given to threads; beyond the size: it is full */
    _Atomic uint64_t done;  /* bytes they are done with */
    _Atomic uint64_t full;  /* bytes it has in the end, 0: not known yet */
    atomic_flag
        gone; /* it is no longer in memory; this structure stays, since a thread may still look at it */
};

static int folder = -1, lock = -1;
static bool
    flushing; /* the log lies in persistent memory: records are flushed as the program's own data are */
static uint64_t first_segment, next_segment;
static _Atomic uint64_t next_sequence;
static _Atomic(struct segment *) current;
static pthread_mutex_t turning = PTHREAD_MUTEX_INITIALIZER;
static uint64_t started;
static _Atomic unsigned threads;
static _Thread_local unsigned thread;
static _Thread_local bool fenced;

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* The head of a segment; in persistent memory it and the file's name are durable before any record is, since
 * none counts without them. */
static uint32_t begin(char *at) {
    struct pc_guard_segment head = {.magic = PC_GUARD_MAGIC,
                                    .version = PC_GUARD_VERSION,
                                    .size = PC_GUARD_SEGMENT,
                                    .number = next_segment,
                                    .run = first_segment,
                                    .first = atomic_load(&next_sequence)};
    if (getrandom(&head.salt, sizeof head.salt, 0) != sizeof head.salt)
        head.salt = (uint32_t)milliseconds();
    memcpy(at, &head, sizeof head);
    if (flushing) {
        pc_real_flush(at, sizeof head);
        pc_real_drain();
        fsync(folder);
    }
    return head.salt;
}

/* A new, empty segment in the place of the current one. */
static bool turn(void) {
    char name[32];
    snprintf(name, sizeof name, "%llu.segment", (unsigned long long)next_segment);
    int file = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 || posix_fallocate(file, 0, PC_GUARD_SEGMENT) != 0) {
        complain("the checkpoint log cannot grow: %s; the program goes on without it [guard-log-full]",
                 strerror(errno));
        if (file >= 0)
            close(file);
        return false;
    }
    char *at = pc_real_mmap(NULL, PC_GUARD_SEGMENT, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    struct segment *segment = calloc(1, sizeof *segment);
    flushing = at != MAP_FAILED && pc_real_is_persistent(at, PC_GUARD_SEGMENT);
    if (flushing)
        fsync(file); /* where its blocks lie */
    close(file);
    if (at == MAP_FAILED || !segment) {
        complain(
            "there is no memory for the checkpoint log; the program goes on without it [guard-log-full]");
        return false;
    }
    segment->at = at;
    segment->salt = begin(at);
    segment->taken = segment->done = sizeof(struct pc_guard_segment);
    next_segment++;
    atomic_store(&current, segment);
    return true;
}

/* The last one who needs a full segment says in its head that it is complete, and takes it out of memory. */
static void finish(struct segment *segment, uint64_t bytes) {
    uint64_t done = atomic_fetch_add(&segment->done, bytes) + bytes;
    if (done != atomic_load(&segment->full) || atomic_flag_test_and_set(&segment->gone))
        return;
    struct pc_guard_segment *head = (struct pc_guard_segment *)segment->at;
    __atomic_store_n(&head->state, PC_GUARD_COMPLETE, __ATOMIC_RELEASE);
    pc_real_munmap(segment->at, PC_GUARD_SEGMENT);
}

static void seal(struct segment *segment, uint64_t bytes) {
    atomic_store(&segment->full, bytes);
    finish(segment, 0);
}

/* Room for a record; NULL: there is none. */
static char *take(uint64_t bytes, struct segment **of) {
    for (;;) {
        struct segment *segment = atomic_load(&current);
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

static unsigned thread_number(void) {
    if (!thread)
        thread = 1 + atomic_fetch_add(&threads, 1);
    return thread;
}

uint64_t pc_log_number(void) {
    return atomic_fetch_add(&next_sequence, 1);
}

static size_t written(const struct pc_log_entry *entry) {
    return entry->kind == PC_GUARD_FILL ? 1 : entry->data ? entry->size : 0;
}

static uint64_t room_for(const struct pc_log_entry *entry) {
    uint64_t bytes = sizeof(struct pc_guard_record) + written(entry);
    return (bytes + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
}

void pc_log_fenced(void) {
    fenced = true;
}

static void write_record(char *to, const struct pc_log_entry *entry, uint32_t salt, uint64_t sequence,
                         uint32_t now) {
    struct pc_guard_record record = {
        .size = (uint32_t)entry->size,
        .sequence = sequence,
        .offset = entry->offset,
        .site = entry->site,
        .transaction = entry->transaction,
        .time = now,
        .thread = (uint16_t)thread_number(),
        .kind = (uint8_t)entry->kind,
        .flags = (entry->flags | (fenced ? PC_GUARD_FENCED : 0)) & 15,
        .pool = entry->pool & 15,
    };
    size_t size = written(entry);
    if (size)
        memcpy(to + sizeof record, entry->data, size);
    /* Of what stands in the log: the program's memory may change meanwhile. */
    uint32_t sum =
        pc_crc32c(salt, (char *)&record + sizeof record.checksum, sizeof record - sizeof record.checksum);
    record.checksum = pc_crc32c(sum, to + sizeof record, size);
    memcpy(to, &record, sizeof record);
    fenced = false;
}

/* Entries that fit into one record each. */
static void put_some(const struct pc_log_entry *entries, unsigned count) {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < count; i++)
        bytes += room_for(&entries[i]);
    struct segment *segment;
    char *start = take(bytes, &segment), *to = start;
    if (!start)
        return;
    uint64_t sequence = atomic_fetch_add(&next_sequence, count);
    uint32_t now = (uint32_t)(milliseconds() - started);
    for (unsigned i = 0; i < count; to += room_for(&entries[i++]))
        write_record(to, &entries[i], segment->salt, sequence + i, now);
    if (flushing)
        pc_real_flush(start, bytes);
    finish(segment, bytes);
}

void pc_log_put_all(const struct pc_log_entry *entries, unsigned count) {
    uint64_t bytes = 0;
    unsigned from = 0;
    for (unsigned i = 0; i < count; i++) {
        if (written(&entries[i]) > PC_GUARD_MOST || bytes + room_for(&entries[i]) > PC_GUARD_MOST) {
            if (i > from)
                put_some(&entries[from], i - from);
            bytes = 0;
            from = i;
        }
        if (written(&entries[i]) > PC_GUARD_MOST) {
            pc_log_put(&entries[i]);
            from = i + 1;
        } else {
            bytes += room_for(&entries[i]);
        }
    }
    if (count > from)
        put_some(&entries[from], count - from);
}

void pc_log_put(const struct pc_log_entry *entry) {
    struct pc_log_entry part = *entry;
    if (written(entry) <= PC_GUARD_MOST) {
        put_some(entry, 1);
        return;
    }
    for (size_t left = entry->size; left > 0; left -= part.size) {
        part.size = left < PC_GUARD_MOST ? left : PC_GUARD_MOST;
        put_some(&part, 1);
        part.data = (const char *)part.data + part.size;
        part.offset += part.size;
    }
}

void pc_log_sync(void) {
    struct segment *segment = atomic_load(&current);
    if (flushing)
        pc_real_drain();
    else if (segment)
        msync(segment->at, PC_GUARD_SEGMENT, MS_SYNC);
    fsync(folder);
}

bool pc_log_is_open(void) {
    return atomic_load(&current) != NULL;
}

void pc_log_leave(void) {
    atomic_store(&current, NULL);
}

bool pc_log_open(const char *path, uint64_t segment, uint64_t first_sequence) {
    folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    lock = folder < 0 ? -1 : openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
        complain("the checkpoint log %s cannot be written: %s [guard-log]", path, strerror(errno));
        return false;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        complain("another program writes the checkpoint log %s: this one is not guarded [guard-log-taken]",
                 path);
        return false;
    }
    first_segment = next_segment = segment;
    next_sequence = first_sequence;
    started = milliseconds();
    return turn();
}

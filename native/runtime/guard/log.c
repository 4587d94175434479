#define _GNU_SOURCE
#include "log.h"

#include "checksum.h"
#include "complain.h"
#include "memory.h"
#include "segments.h"

#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { STAGE = 16 << 10, NUMBERS = 256 };

struct stage { /* of one thread: records as they will stand in the log */
    uint64_t used;
    unsigned count;
    struct pc_segment *segment; /* that was written last, */
    uint64_t owed;              /* and the bytes that are to be given back to it */
    _Alignas(PC_GUARD_ALIGN) char lines[STAGE];
};

static uint64_t started;
static _Atomic unsigned threads;
static _Thread_local unsigned thread;
static _Thread_local void *own_stage;
_Thread_local bool pc_log_due, pc_log_owes, pc_log_has_fenced;

static uint64_t milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static unsigned thread_number(void) {
    if (!thread)
        thread = 1 + atomic_fetch_add(&threads, 1);
    return thread;
}

uint64_t pc_log_number(void) {
    static _Thread_local uint64_t number, end; /* many at once: others want to count, too */
    if (number == end) {
        number = pc_segments_number(NUMBERS);
        end = number + NUMBERS;
    }
    return number++;
}

static uint64_t in_lines(uint64_t bytes) {
    return (bytes + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
}

/* Whole lines, past the caches: nothing is read for them, and the thread's next fence waits for them. */
static void stream(char *to, const char *from, uint64_t bytes) {
    for (; bytes > 0; bytes -= PC_GUARD_ALIGN, to += PC_GUARD_ALIGN, from += PC_GUARD_ALIGN) {
        __m128i *line = (__m128i *)to;
        const __m128i *new = (const __m128i *)from;
        _mm_stream_si128(line, _mm_load_si128(new));
        _mm_stream_si128(line + 1, _mm_load_si128(new + 1));
        _mm_stream_si128(line + 2, _mm_load_si128(new + 2));
        _mm_stream_si128(line + 3, _mm_load_si128(new + 3));
    }
}

/* Without what it gets when it is written. The last fields are written as one word, since they are read as
 * one at once. */
static void head_of(struct pc_guard_record *record, const struct pc_log_entry *entry) {
    record->size = (uint32_t)entry->size;
    record->offset = entry->offset;
    record->site = entry->site;
    record->transaction = entry->transaction;
    unsigned flags = (entry->flags | (pc_log_has_fenced ? PC_GUARD_FENCED : 0)) & 15;
    uint64_t last = (uint64_t)(uint16_t)thread_number() << 32 | (uint64_t)entry->kind << 48 |
                    (uint64_t)flags << 56 | (uint64_t)(entry->pool & 15) << 60;
    memcpy((char *)record + offsetof(struct pc_guard_record, time), &last, sizeof last);
    pc_log_has_fenced = false;
}

static void set_time(struct pc_guard_record *record, uint64_t now) {
    char *at = (char *)record + offsetof(struct pc_guard_record, time);
    uint64_t last;
    memcpy(&last, at, sizeof last);
    last |= (uint32_t)(now - started);
    memcpy(at, &last, sizeof last);
}

void pc_log_pay(void) {
    struct stage *mine = own_stage;
    if (mine)
        pc_segment_give_back(mine->segment, mine->owed);
    pc_log_owes = false;
}

static void write_last(void) {
    pc_log_write_staged();
    pc_log_settle();
}

static struct stage *stage(void) {
    struct stage *mine = own_stage ? own_stage : pc_thread_memory(sizeof *mine, &own_stage, write_last);
    if (!mine && pc_segments_are_open()) {
        complain(
            "there is no memory for the checkpoint log; the program goes on without it [guard-log-full]");
        pc_segments_leave();
    }
    return mine;
}

/* A record that is too long for the stage, past it. The checksum is of what is written, since the program's
 * memory may change meanwhile. */
static void write_long(struct stage *mine, const struct pc_log_entry *entry) {
    _Alignas(PC_GUARD_ALIGN) char line[PC_GUARD_ALIGN]; /* the head and the first bytes */
    struct pc_guard_record *record = (struct pc_guard_record *)line;
    struct pc_segment *segment;
    uint64_t bytes = in_lines(sizeof *record + entry->size), left = entry->size, part;
    char *to = pc_segment_take(bytes, &segment), *at = to;
    if (!to)
        return;
    head_of(record, entry);
    record->sequence = pc_segments_number(1);
    set_time(record, milliseconds());
    const char *data = entry->data;
    memcpy(record + 1, data, part = sizeof line - sizeof *record);
    uint32_t sum = pc_crc32c(pc_segment_salt(segment), line + sizeof sum, sizeof line - sizeof sum);
    for (at += sizeof line; left -= part, data += part, left > 0; at += STAGE) {
        part = left < STAGE ? left : STAGE;
        memcpy(mine->lines, data, part);
        memset(mine->lines + part, 0, in_lines(part) - part);
        sum = pc_crc32c(sum, mine->lines, part);
        stream(at, mine->lines, in_lines(part));
    }
    record->checksum = sum;
    stream(to, line, sizeof line);
    pc_segment_give_back(segment, bytes);
}

void pc_log_note(const struct pc_log_entry *entry) {
    struct stage *mine = stage();
    size_t size = pc_guard_written(entry->kind, entry->size);
    uint64_t bytes = sizeof(struct pc_guard_record) + size, room = in_lines(bytes);
    if (!mine)
        return;
    if (room > STAGE - mine->used)
        pc_log_write_staged();
    if (room > STAGE) {
        struct pc_log_entry piece = *entry;
        for (size_t left = size; left > 0; left -= piece.size, piece.offset += piece.size) {
            piece.size = left < PC_GUARD_MOST ? left : PC_GUARD_MOST;
            piece.data = (const char *)entry->data + (size - left);
            write_long(mine, &piece);
        }
        return;
    }
    char *to = mine->lines + mine->used;
    memset(to + room - PC_GUARD_ALIGN, 0, PC_GUARD_ALIGN);
    head_of((struct pc_guard_record *)to, entry);
    if (size)
        memcpy(to + sizeof(struct pc_guard_record), entry->data, size);
    mine->used += room;
    mine->count++;
}

void pc_log_stage(const struct pc_log_entry *entry) {
    pc_log_note(entry);
    pc_log_due = true;
}

/* What a record lacks until it is written; its bytes. */
static uint64_t complete(char *at, uint32_t salt, uint64_t sequence, uint64_t now) {
    struct pc_guard_record *record = (struct pc_guard_record *)at;
    size_t size = pc_guard_written(record->kind, record->size);
    record->sequence = sequence;
    set_time(record, now);
    uint32_t skip = sizeof record->checksum;
    record->checksum = pc_crc32c(salt, at + skip, sizeof *record - skip + size);
    return in_lines(sizeof *record + size);
}

void pc_log_write_staged(void) {
    struct stage *mine = own_stage;
    uint64_t bytes = mine ? mine->used : 0;
    pc_log_settle();
    char *to = bytes ? pc_segment_take(bytes, &mine->segment) : NULL;
    if (to) {
        uint64_t sequence = pc_segments_number(mine->count), now = milliseconds();
        uint32_t salt = pc_segment_salt(mine->segment);
        for (char *at = mine->lines; at < mine->lines + bytes;)
            at += complete(at, salt, sequence++, now);
        stream(to, mine->lines, bytes);
        mine->owed = bytes;
        pc_log_owes = true;
    }
    if (mine)
        mine->used = mine->count = 0;
    pc_log_due = false;
}

void pc_log_sync(void) {
    write_last();
    pc_segments_sync();
}

bool pc_log_is_open(void) {
    return pc_segments_are_open();
}

void pc_log_leave(void) {
    pc_segments_leave();
}

bool pc_log_open(const char *path, uint64_t first_segment, uint64_t first_sequence) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int lock = folder < 0 ? -1 : openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0) {
        complain("the checkpoint log %s cannot be written: %s [guard-log]", path, strerror(errno));
        return false;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) { /* held until the program ends */
        complain("another program writes the checkpoint log %s: this one is not guarded [guard-log-taken]",
                 path);
        return false;
    }
    started = milliseconds();
    return pc_segments_open(folder, first_segment, first_sequence);
}

#define _GNU_SOURCE
#include "log.h"

#include "checksum.h"
#include "complain.h"
#include "memory.h"
#include "segments.h"
#include "words.h"

#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { STAGE = 16 << 10, HEAD = sizeof(struct pc_guard_record), MEMBER = sizeof(struct pc_guard_member) };
enum { WORD = 8, MEMBER_MOST = MEMBER + 3 * WORD }; /* bytes of one, without its data */
enum { MUCH = 64 };                                 /* bytes that are copied faster in larger pieces */

struct common { /* what members have in common, mostly */
    uint64_t offset, site, transaction;
};

struct stage { /* of one thread: a group as it will stand in the log, but for its head */
    struct pc_writer *writer;
    uint64_t used; /* bytes of members */
    unsigned count;
    struct common first, last; /* members */
    uint64_t written;          /* the number of its last group, that no transaction has; 0: one has */
    uint64_t number;           /* of its last transaction, */
    bool is_told;              /* of which a record tells */
    _Alignas(PC_GUARD_ALIGN) char group[STAGE + PC_GUARD_ALIGN]; /* and a line of zeros behind it */
};

static uint64_t started;
static _Atomic unsigned threads;
static _Thread_local unsigned thread;
static _Thread_local void *own_stage;
_Thread_local struct pc_log pc_log;

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

static uint64_t in_lines(uint64_t bytes) {
    return (bytes + PC_GUARD_ALIGN - 1) & ~(uint64_t)(PC_GUARD_ALIGN - 1);
}

/* Past the caches: nothing is read for it, and the thread's next fence waits for it. Words, since they were
 * just stored so. */
static inline uint64_t stream_word(char *to, const char *from) {
    uint64_t word = pc_word_at(from);
    _mm_stream_si64((long long *)to, (long long)word);
    return word;
}

static void stream_line(char *to, const char *from) {
    for (unsigned at = 0; at < PC_GUARD_ALIGN; at += WORD)
        stream_word(to + at, from + at);
}

/* Whole lines, and their checksum with them. */
PC_CRC void stream(char *to, const char *from, uint64_t bytes, struct pc_checksum *sum) {
    uint64_t a = sum->sums[0], b = sum->sums[1], c = sum->sums[2], d = sum->sums[3];
    for (uint64_t at = 0; at < bytes; at += PC_SUMMED) {
        a = __builtin_ia32_crc32di(a, stream_word(to + at, from + at));
        b = __builtin_ia32_crc32di(b, stream_word(to + at + 8, from + at + 8));
        c = __builtin_ia32_crc32di(c, stream_word(to + at + 16, from + at + 16));
        d = __builtin_ia32_crc32di(d, stream_word(to + at + 24, from + at + 24));
    }
    *sum = (struct pc_checksum){{a, b, c, d}};
}

/* With whether the thread has fenced before what it tells next. */
static uint64_t with_fence(uint64_t what) {
    what |= (uint64_t)(pc_log.has_fenced ? PC_GUARD_FENCED : 0) << PC_WHAT_FLAGS;
    pc_log.has_fenced = false;
    return what;
}

/* The head of a record, without a checksum; word by word, as it is loaded next. */
static void put_head(char *to, uint64_t what, uint64_t size, const struct common *head,
                     const struct pc_room *room) {
    uint64_t last = (uint32_t)(milliseconds() - started) | (uint64_t)(uint16_t)thread_number() << 32 |
                    (what >> PC_WHAT_KIND & 0xffff) << 48;
    pc_put_word(to, size << 32);
    pc_put_word(to + offsetof(struct pc_guard_record, sequence), room->sequence);
    pc_put_word(to + offsetof(struct pc_guard_record, offset), head->offset);
    pc_put_word(to + offsetof(struct pc_guard_record, site), head->site);
    pc_put_word(to + offsetof(struct pc_guard_record, transaction), head->transaction);
    pc_put_word(to + offsetof(struct pc_guard_record, time), last);
}

static void put_checksum(char *to, uint64_t size, uint32_t checksum) {
    pc_put_word(to, size << 32 | checksum);
}

void pc_log_pay(void) {
    struct stage *mine = own_stage;
    if (mine)
        pc_room_done(mine->writer);
    pc_log.owes = false;
}

static void write_last(void) {
    pc_log_write_staged();
    pc_log_settle();
}

static void end_stage(void) {
    struct stage *mine = own_stage;
    write_last();
    if (mine->writer)
        pc_writer_end(mine->writer);
}

static __attribute__((noinline)) void make_stage(void) {
    struct stage *mine = pc_thread_memory(sizeof *mine, &own_stage, end_stage);
    if (mine)
        mine->writer = pc_writer_begin();
    if ((!mine || !mine->writer) && pc_segments_are_open()) {
        complain("no memory for the checkpoint log; the program continues without it [guard-log-full]");
        pc_segments_leave();
    }
}

/* NULL: there is no memory for it. */
static inline struct stage *stage(void) {
    if (__builtin_expect(!own_stage, 0))
        make_stage();
    struct stage *mine = own_stage;
    return mine && mine->writer ? mine : NULL;
}

/* A record that is too long for the stage, past it. The checksum is of what is written, since the program's
 * memory may change meanwhile. */
static void write_long(struct stage *mine, uint64_t what, const struct common *head, const char *data,
                       size_t size) {
    char line[PC_GUARD_ALIGN]; /* the head and the first bytes */
    struct pc_room room;
    size_t left = size, part = sizeof line - HEAD;
    if (!pc_room_take(mine->writer, in_lines(HEAD + size), &room))
        return;
    char *at = room.at;
    put_head(line, what, size, head, &room);
    memcpy(line + HEAD, data, part);
    struct pc_checksum sum = pc_checksum_begin(room.salt);
    pc_checksum_add(&sum, line, sizeof line);
    for (at += sizeof line; left -= part, data += part, left > 0; at += STAGE) {
        part = left < STAGE ? left : STAGE;
        memcpy(mine->group, data, part);
        memset(mine->group + part, 0, in_lines(part) - part);
        stream(at, mine->group, in_lines(part), &sum);
    }
    put_checksum(line, size, pc_checksum_end(&sum));
    stream_line(room.at, line);
    pc_room_done(mine->writer);
}

/* In pieces, where it is too long even for a record. */
static __attribute__((noinline)) void write_past(struct stage *mine, uint64_t what, struct common head,
                                                 const char *data, size_t size) {
    pc_log_settle();
    for (size_t left = size, part; left > 0; left -= part, data += part, head.offset += part) {
        part = left < PC_GUARD_MOST ? left : PC_GUARD_MOST;
        write_long(mine, what, &head, data, part);
        what &= ~((uint64_t)PC_GUARD_FENCED << PC_WHAT_FLAGS); /* said once */
    }
}

/* Up to a multiple of WORD, with zeros. What the program has just stored word by word is loaded so: a larger
 * load would have to wait until that is done. */
static inline size_t put_little(char *to, const char *data, size_t size) {
    size_t at = 0;
    for (; at + WORD <= size; at += WORD)
        pc_put_word(to + at, pc_word_at(data + at));
    if (at < size) {
        pc_put_word(to + at, pc_part_at(data + at, size - at));
        at += WORD;
    }
    return at;
}

static __attribute__((noinline)) size_t put_much(char *to, const char *data, size_t size) {
    size_t words = size & ~(size_t)(WORD - 1);
    memcpy(to, data, words);
    return words + put_little(to + words, data + words, size - words);
}

/* A member tells what is not as in the last one: each of the words is put, and stays if it is needed. */
void pc_log_tell(uint64_t what, uint64_t offset, uint64_t site, uint64_t transaction, const void *data,
                 size_t size) {
    struct stage *mine = stage();
    if (!mine)
        return;
    size_t written = pc_guard_written((unsigned)(what >> PC_WHAT_KIND & 255), size);
    uint64_t room = MEMBER_MOST + written + WORD;
    if (__builtin_expect(room > STAGE - HEAD - mine->used, 0))
        pc_log_write_staged();
    what = with_fence(what);
    mine->is_told |= transaction != 0;
    if (__builtin_expect(room > STAGE - HEAD, 0)) {
        write_past(mine, what, (struct common){offset, site, transaction}, data, size);
        return;
    }
    if (!mine->count++)
        mine->first = mine->last = (struct common){offset, site, transaction};
    char *start = mine->group + HEAD + mine->used, *to = start + MEMBER;
    uint64_t has_offset = offset != mine->last.offset, has_site = site != mine->last.site,
             has_transaction = transaction != mine->last.transaction;
    pc_put_word(start,
                what | (uint32_t)size | (has_offset | has_site << 1 | has_transaction << 2) << PC_WHAT_HAS);
    pc_put_word(to, offset);
    pc_put_word(to += WORD * has_offset, site);
    pc_put_word(to += WORD * has_site, transaction);
    to += WORD * has_transaction;
    mine->last = (struct common){offset, site, transaction};
    mine->used += (uint64_t)(to - start) + (written > MUCH ? put_much : put_little)(to, data, written);
}

/* The members as one record, its first line last. That of a single member is no group: its data then stands
 * behind its head at once. */
static void write_members(struct stage *mine) {
    bool is_group = mine->count > 1;
    uint64_t what = is_group ? (uint64_t)PC_GUARD_GROUP << PC_WHAT_KIND : pc_word_at(mine->group + HEAD);
    uint64_t size = is_group ? mine->used : (uint32_t)what;
    uint64_t data = is_group ? size : pc_guard_written((unsigned)(what >> PC_WHAT_KIND & 255), size);
    uint64_t bytes = in_lines(HEAD + data);
    char *start = mine->group + (is_group ? 0 : MEMBER);
    struct pc_room room;
    if (!pc_room_take(mine->writer, bytes, &room))
        return;
    memset(mine->group + HEAD + mine->used, 0, PC_GUARD_ALIGN);
    put_head(start, what, size, &mine->first, &room);
    struct pc_checksum sum = pc_checksum_begin(room.salt);
    pc_checksum_add(&sum, start, PC_GUARD_ALIGN);
    stream(room.at + PC_GUARD_ALIGN, start + PC_GUARD_ALIGN, bytes - PC_GUARD_ALIGN, &sum);
    put_checksum(start, size, pc_checksum_end(&sum));
    stream_line(room.at, start);
    mine->written = room.sequence;
    pc_log.owes = true;
}

void pc_log_write_staged(void) {
    struct stage *mine = own_stage;
    pc_log.due = false;
    pc_log_settle();
    if (!mine || !mine->count)
        return;
    write_members(mine);
    mine->used = mine->count = 0;
}

/* The sequence number of its last group; if a transaction has that already, that of a line which stays empty.
 */
uint64_t pc_log_number(void) {
    struct stage *mine = pc_segments_are_open() ? stage() : NULL;
    struct pc_room none;
    if (!mine || (mine->number && !mine->is_told))
        return mine ? mine->number : 0;
    mine->number = mine->written;
    mine->written = 0;
    mine->is_told = false;
    if (!mine->number) {
        pc_log_settle();
        mine->number = pc_room_take(mine->writer, PC_GUARD_ALIGN, &none) ? none.sequence : 0;
        pc_room_done(mine->writer);
    }
    return mine->number;
}

void pc_log_complete(uint64_t transaction) {
    struct stage *mine = own_stage;
    if (mine && mine->is_told && mine->number == transaction)
        pc_log_note(&(struct pc_log_entry){.kind = PC_GUARD_COMMIT, .transaction = transaction});
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
        complain("cannot write the checkpoint log %s: %s [guard-log]", path, strerror(errno));
        return false;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) { /* held until the program ends */
        complain("another program writes the checkpoint log %s, so this one is not guarded [guard-log-taken]",
                 path);
        return false;
    }
    started = milliseconds();
    return pc_segments_open(folder, first_segment, first_sequence);
}

/* The checkpoint log: what a guarded program made durable, in order.
 *
 * A log is a folder:
 *
 *   lock          held by the one program that writes
 *   reclaiming    held by whoever makes the log smaller
 *   supervisor    held by the program that starts services, one after the other
 *   brake         held by it while a service should wait with its next segment; for how many milliseconds at
 *                 most, in 32 bits
 *   pool-N.base   pool N as it was when it was first mapped, with what was reclaimed since, but for the last
 *                 time, written over it
 *   N.segment     records; N counts from 1
 *
 * Records start at multiples of PC_GUARD_ALIGN behind the head of a segment. They are written by several
 * threads at once and without waiting, so a kill or a power cut may leave holes: a record counts if its
 * checksum is right, whatever lies before it; readers go on at the next multiple. Checksums start from a
 * random number of the segment: what was in a file before, or bytes of a torn record's data that look like a
 * record, never count. The order of records is that of their sequence numbers, some of which nobody has.
 *
 * What a thread writes at once is one record, a group, in which the others stand: all of them count, or none.
 *
 * A compacted segment stands for all segments up to its number: what is left of those with lower numbers does
 * not count. In it, of each byte the newest versions are kept. The newest of the older ones is told as what
 * the base shall be: whoever reads a base reads that over it; it gets there when the log is next reclaimed. A
 * record of which only some bytes are kept is there as several, all with its sequence number.
 *
 * What a record tells was in the program's memory when it asked for its durability; the record itself is
 * written before the program's own fence, which makes both durable. So a record may be ahead of the pool by
 * what was under way at a crash, never behind what the program was told is durable. */
#ifndef POWERCUT_GUARD_LOG_FORMAT_H
#define POWERCUT_GUARD_LOG_FORMAT_H

#include <stdint.h>

#define PC_GUARD_MAGIC   "PCGUARD" /* and NUL: 8 bytes */
#define PC_GUARD_VERSION 3
#define PC_GUARD_ALIGN   64
#define PC_GUARD_SEGMENT (8u << 20) /* bytes of a segment */
#define PC_GUARD_MOST    (1u << 20) /* bytes of data in one record; longer updates are several */

struct pc_guard_segment { /* the head of a segment: 64 bytes */
    char magic[8];
    uint32_t version;
    uint32_t size; /* of the segment, with its head; 0: that of the file */
    uint64_t number;
    uint64_t run;    /* the number of the first segment that the same program wrote */
    uint64_t first;  /* no record in it, nor in any later segment, has a lower sequence number */
    uint64_t folded; /* compacted: the newest record of which a byte is no version any more; 0: none */
    uint32_t state;
    uint32_t salt; /* checksums of records start from it */
    char reserved[8];
};

enum pc_guard_state {
    PC_GUARD_COMPLETE = 1, /* nobody will write into it any more; without it: not before the program's end */
    PC_GUARD_COMPACTED = 2,
};

enum pc_guard_kind {
    PC_GUARD_START = 1,  /* a program starts: data: its name. offset: seconds since 1970 */
    PC_GUARD_MODULE = 2, /* offset: where it is loaded, data: path: tells what later sites mean */
    PC_GUARD_POOL = 3,   /* pool: a number not used before, offset: size in bytes, data: path */
    PC_GUARD_UPDATE = 4, /* offset, data: bytes that become durable */
    PC_GUARD_FILL = 5,   /* offset, size: bytes that become durable, all of them data[0] */
    PC_GUARD_FOUND =
        6, /* offset, data: bytes that differ from the log at a start: who wrote them is not known */
    PC_GUARD_ALLOCATE = 7,
    PC_GUARD_FREE = 8,   /* both: offset, size: an object */
    PC_GUARD_COMMIT = 9, /* transaction: it is complete */
    PC_GUARD_BASE = 10,  /* offset, data: what the base shall be; all else as in the record that it was */
    PC_GUARD_GROUP = 11, /* data: members (pc_guard_member) */
};

enum pc_guard_flag {
    PC_GUARD_LIBRARY = 1, /* not the program's own data: written by PMDK for its own use */
    PC_GUARD_RESTORE = 2, /* libpmemobj rolls a transaction back, or completes what a crash interrupted */
    PC_GUARD_CHANGES = 4, /* bytes that are as they were were not written: they lie between changes */
    PC_GUARD_FENCED = 8,  /* what the same thread's earlier records tell of has come true */
};

struct pc_guard_record { /* 48 bytes, then the data */
    uint32_t checksum;   /* of all that follows, from the segment's salt on: checksum.h */
    uint32_t size;       /* bytes of data, FILL: one; of what it tells of */
    uint64_t sequence;
    uint64_t offset;
    uint64_t site;        /* the address behind the call, 0: unknown */
    uint64_t transaction; /* 0: none */
    uint32_t time;        /* milliseconds since START */
    uint16_t thread;      /* in order of appearance */
    uint8_t kind;
    uint8_t flags : 4, pool : 4;
};

/* A record of a group, in 8 bytes; then those of offset, site and transaction, 8 bytes each, that are not
 * what they are in the member before, of the first in the head of the group; then its data and zeros up to a
 * multiple of 8. Time and thread are those of the group; its sequence number belongs to the first member, the
 * next one to the next. */
struct pc_guard_member {
    uint32_t size;
    uint8_t kind;
    uint8_t flags : 4, pool : 4;
    uint8_t has; /* enum pc_guard_has */
    uint8_t reserved;
};

enum pc_guard_has { PC_GUARD_HAS_OFFSET = 1, PC_GUARD_HAS_SITE = 2, PC_GUARD_HAS_TRANSACTION = 4 };

/* The bytes of data that stand behind the head of a record. */
static inline uint32_t pc_guard_written(unsigned kind, uint64_t size) {
    const unsigned whole = 1u << PC_GUARD_START | 1u << PC_GUARD_MODULE | 1u << PC_GUARD_POOL |
                           1u << PC_GUARD_UPDATE | 1u << PC_GUARD_FOUND | 1u << PC_GUARD_BASE |
                           1u << PC_GUARD_GROUP;
    return kind == PC_GUARD_FILL ? 1 : (whole >> (kind & 31) & 1) ? (uint32_t)size : 0;
}

_Static_assert(sizeof(struct pc_guard_segment) == 64 && sizeof(struct pc_guard_record) == 48 &&
                   sizeof(struct pc_guard_member) == 8,
               "as readers know it");

#endif

/* The patterns of misuse that one pass over the memory records of a trace finds (docs/lint.md), and the state
 * of that pass.
 *
 * The state is shadow memory: for every cache line that was stored to or flushed 16 bytes, and for those that
 * are not persistent yet, which of their bytes are not and who stored them. It grows with the memory that the
 * program touches, not with the length of the trace. What is found is counted by call stack; words and lines
 * are Python's business.
 *
 * lint/lines.c   the cache lines
 * lint/files.c   which inode a record is about
 * lint/sites.c   what was found, by call stack
 * lint/rules.c   what a store, a flush and a fence do
 * lint/sync.c    what a sync does, and what is left at the end
 * lint/pass.c    the walk over events and records
 * lint/memory.c  the way in from Python
 */
#ifndef POWERCUT_LINT_LINT_H
#define POWERCUT_LINT_LINT_H

#include "map.h"
#include "trace_format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is found. lint/memory_pass.py has the same numbers. "Other" and examples are stacks of the other side.
 */
enum lint_pattern {
    LINT_UNFLUSHED = 1,      /* stored, never flushed since; its line was flushed before; first: there */
    LINT_UNFENCED = 2,       /* stored and flushed (or stored around the cache), never fenced; first: flush */
    LINT_TRANSIENT = 3,      /* stored, and its line is never flushed */
    LINT_OVERWRITE = 4,      /* stored over bytes not yet persistent, then flushed; other: first store */
    LINT_FLUSH_CLEAN = 5,    /* flushed, and never stored to */
    LINT_FLUSH_AGAIN = 6,    /* flushed, and not stored to since the last flush; first: that flush */
    LINT_FLUSH_BYPASSED = 7, /* flushed, and the last store went around the cache; first: that store */
    LINT_FLUSH_VOLATILE = 8, /* flushed, and no memory of a file */
    LINT_FLUSH_EADR = 9,     /* flushed where caches survive */
    LINT_FLUSH_SEVERAL = 10, /* one flush for several stores; first, last: of these; most: how many */
    LINT_FENCE_IDLE = 11,    /* a fence with nothing to wait for; first: the fence before */
    LINT_FENCE_SEVERAL = 12, /* one fence for several lines; first, last: their flushes; most: lines */
};

/* Something found at one place, and how often. */
struct lint_site {
    uint32_t pattern, file, stack, other;
    uint64_t count;
    uint32_t first, last, most, unused;
};

/* What makes a site one. */
struct lint_place {
    uint32_t pattern, file, stack, other;
};

struct lint_site_slot {
    struct lint_place place;
    uint32_t number; /* 0: free */
};

static inline bool lint_places_used(const struct lint_site_slot *slot) {
    return slot->number != 0;
}

static inline struct lint_place lint_places_key(const struct lint_site_slot *slot) {
    return slot->place;
}

static inline uint64_t lint_places_hash(struct lint_place place) {
    uint64_t hash = ((uint64_t)place.stack << 32 | place.other) * PC_GOLDEN;
    return (hash ^ ((uint64_t)place.file << 8 | place.pattern)) * 0xC2B2AE3D27D4EB4Full >> 32;
}

static inline bool lint_places_same(struct lint_place one, struct lint_place other) {
    return one.stack == other.stack && one.other == other.other && one.file == other.file &&
           one.pattern == other.pattern;
}

PC_HASH_TABLE(lint_places, struct lint_site_slot, struct lint_place, 512)

struct lint_sites {
    struct lint_site *sites; /* from 1 on */
    uint32_t count, room;
    struct lint_places places; /* the numbers of sites */
};

/* A cache line that was ever stored to or flushed. */
struct lint_line {
    uint64_t key;          /* file number above, number of the line in the file below; 0: free slot */
    uint32_t written_back; /* stack of its last flush, sync or store around the cache */
    uint32_t state;        /* number of its struct lint_dirty, 0 if it is persistent; and flags */
};
#define LINT_LINE_BITS 44 /* of the key, for the line; file offsets of up to 2^50 */
#define LINT_FLUSHED   (1u << 28)
#define LINT_BYPASSED  (1u << 29) /* written back by a store around the cache, and not by a flush since */
#define LINT_DIRTY     (LINT_FLUSHED - 1)

/* Bytes of a line that persist at the next fence of a thread. */
struct lint_pending {
    uint64_t bytes;
    uint32_t thread;
};
#define LINT_ALL_BYTES UINT64_MAX

#define LINT_OWN_PENDING 2 /* more threads than that rarely flush one line at once */

/* The bytes of a line that are not persistent yet, one bit for each. */
struct lint_dirty {
    uint64_t bytes;    /* stored and not yet persistent; all other sets are parts of this one */
    uint64_t cached;   /* not flushed since */
    uint64_t settled;  /* cleared, or changed by a locked operation: to store over them is no mistake */
    uint32_t slot;     /* of the line */
    uint32_t lifetime; /* how often this record was given back: old references are recognised */
    uint32_t stores, first_store, last_store; /* instructions since the last flush, and their stacks */
    uint32_t overwrites;                      /* the first struct lint_overwrite; 0: none */
    uint32_t file, next, previous;            /* dirty lines of a file; 0: none */
    uint32_t pending_count, more_room;
    struct lint_pending own[LINT_OWN_PENDING], *more;
    uint32_t stack[64]; /* who stored each byte */
    uint8_t value[64];
};

/* Bytes of a line were stored over, which counts only once the line is flushed. */
struct lint_overwrite {
    uint32_t first, second, count, next;
};

#define LINT_CHUNK_BITS 10 /* records are allocated so many at once, and never move */

struct lint_lines {
    struct lint_line *slots;
    uint32_t count, bits; /* 2^bits slots, at most half of them taken */
    struct lint_dirty **chunks;
    uint32_t dirty_used, dirty_free; /* records taken so far; the first that was given back */
    struct lint_overwrite *overwrites;
    uint32_t overwrite_used, overwrite_room, overwrite_free;
};

struct lint_file {
    uint64_t inode; /* 0: memory of no file */
    uint64_t stores;
    uint64_t written_from, written_to; /* where write() changed it */
    uint32_t dirty, dirty_count;       /* its dirty lines */
    uint8_t gone;                      /* nobody can see it any more */
    uint8_t flushed, msynced;          /* ever, by the program */
    uint8_t synced;                    /* by msync or fsync, after it was stored to */
    uint8_t stored;                    /* since its last sync */
};

struct lint_process {
    uint32_t *files; /* what its file numbers stand for */
    uint32_t room;
};

/* A line that a thread has flushed, or stored to around the cache, since its last fence. */
struct lint_flushed {
    uint32_t dirty, lifetime, stack;
};

struct lint_thread {
    struct lint_flushed *flushed;
    uint32_t count, room;
    uint32_t last_fence; /* stack of its last fence that was no locked operation */
    bool any;            /* anything to wait for since that fence */
    bool own;            /* anything of the program's own since its own last fence */
    uint64_t last_line;  /* key of the line of its last store */
};

enum lint_error { LINT_FINE, LINT_NO_MEMORY, LINT_INTERRUPTED, LINT_BROKEN };

/* Whose a call stack is: the program's, or inside a library of persistent memory; there either the library's
 * private affair, or the end of a transaction, which makes persistent what the program stored in it. */
enum lint_role { LINT_OWN, LINT_PRIVATE, LINT_COMMIT };

struct lint {
    /* The trace: its events, and the whole file that runs are in. */
    const struct pc_event *events;
    uint64_t event_count;
    const uint8_t *trace;
    uint64_t trace_size;
    const uint8_t *internal; /* for each stack: enum lint_role */
    uint32_t stack_count;    /* with number 0, "none" */
    bool eadr;               /* caches survive */

    struct lint_lines lines;
    struct lint_sites sites;
    struct lint_file *files; /* from 1 on */
    uint32_t file_count, file_room;
    struct pc_map by_inode, by_pid, by_tid;
    struct lint_process *processes;
    uint32_t process_count, process_room;
    struct lint_thread *threads; /* from 1 on */
    uint32_t thread_count, thread_room;

    uint8_t *storing;   /* for each stack, whether it stored anything */
    uint64_t *executed; /* for each stack, how many flushes or fences */
    uint64_t *useful;   /* events that are syncs and made a store persistent */
    uint64_t useful_count, useful_room;
    uint64_t stores, flushes, fences; /* records */

    /* Called now and then with the place reached in the trace; false ends the pass. */
    bool (*pause)(struct lint *lint, uint64_t reached);
    void *context;

    /* The first thing that went wrong; the walk ends at the next record. */
    enum lint_error error;
    const char *why;
    struct lint_site no_site; /* stands in where there is no memory for more */
};

/* lint/lines.c */

/* Before all others. */
void pc_lint_lines_start(struct lint *lint);
/* Both NULL without memory. */
struct lint_line *pc_lint_line_add(struct lint *lint, uint64_t key);
struct lint_dirty *pc_lint_dirty_add(struct lint *lint, struct lint_line *line, uint32_t file);
void pc_lint_dirty_drop(struct lint *lint, struct lint_dirty *dirty);
struct lint_pending *pc_lint_pending_add(struct lint *lint, struct lint_dirty *dirty, uint32_t thread);
void pc_lint_overwrite_add(struct lint *lint, struct lint_dirty *dirty, uint32_t first, uint32_t second);
/* Gives the notes of stores over bytes back; found ones become sites. */
void pc_lint_overwrites_end(struct lint *lint, struct lint_dirty *dirty, bool found);
void pc_lint_lines_free(struct lint *lint);

static inline uint64_t pc_lint_key(uint32_t file, uint64_t offset) {
    return (uint64_t)file << LINT_LINE_BITS | offset >> 6;
}

/* Four neighbours share a cache line of the table. */
static inline uint32_t pc_lint_slot(const struct lint_lines *lines, uint64_t key) {
    uint64_t group = (key >> 2) * 0x9E3779B97F4A7C15ull >> (66 - lines->bits);
    return (uint32_t)(group << 2 | (key & 3));
}

static inline struct lint_line *pc_lint_line_find(const struct lint_lines *lines, uint64_t key) {
    uint32_t mask = (1u << lines->bits) - 1;
    for (uint32_t at = pc_lint_slot(lines, key);; at = (at + 1) & mask) {
        if (lines->slots[at].key == key) {
            return &lines->slots[at];
        }
        if (lines->slots[at].key == 0) {
            return NULL;
        }
    }
}

static inline struct lint_dirty *pc_lint_dirty(const struct lint_lines *lines, uint32_t number) {
    return &lines->chunks[number >> LINT_CHUNK_BITS][number & ((1u << LINT_CHUNK_BITS) - 1)];
}

static inline uint32_t pc_lint_number(const struct lint_lines *lines, const struct lint_dirty *dirty) {
    return lines->slots[dirty->slot].state & LINT_DIRTY;
}

static inline struct lint_pending *pc_lint_pending(struct lint_dirty *dirty, uint32_t i) {
    return i < LINT_OWN_PENDING ? &dirty->own[i] : &dirty->more[i - LINT_OWN_PENDING];
}

static inline struct lint_dirty *pc_lint_dirty_of(struct lint *lint, const struct lint_line *line) {
    uint32_t number = line->state & LINT_DIRTY;
    return number == 0 ? NULL : pc_lint_dirty(&lint->lines, number);
}

/* Whether a library of persistent memory wrote a line back on its own account, as when it allocates: nobody
 * outside can rely on that, so what the program does with the line then is no waste. */
static inline bool pc_lint_private(const struct lint *lint, uint32_t stack) {
    return lint->internal[stack] == LINT_PRIVATE;
}

/* Whether a stack is the program's own, and not inside a library of persistent memory. */
static inline bool pc_lint_own(const struct lint *lint, uint32_t stack) {
    return lint->internal[stack] == 0;
}

/* lint/files.c */

uint32_t pc_lint_file_of(struct lint *lint, uint64_t inode);
/* Nobody can see the file any more: what it holds need not persist. */
void pc_lint_file_gone(struct lint *lint, uint64_t inode);
/* The inode stands for a new file, if it ever stood for one. */
void pc_lint_file_made(struct lint *lint, uint64_t inode);
/* The file of a process's number; 0: it was never named. */
uint32_t *pc_lint_process_file(struct lint *lint, struct lint_process *process, uint16_t number);
struct lint_process *pc_lint_process(struct lint *lint, uint32_t pid);
uint32_t pc_lint_thread(struct lint *lint, uint64_t tid);
/* The number of an ended thread comes again: what that one flushed is not completed by this one. */
void pc_lint_thread_started(struct lint *lint, uint64_t tid);
void pc_lint_files_free(struct lint *lint);

/* lint/sites.c */

struct lint_site *pc_lint_site(struct lint *lint, enum lint_pattern pattern, uint32_t file, uint32_t stack,
                               uint32_t other);
/* Counts something found; the first occurrence gives the examples. */
void pc_lint_found(struct lint *lint, enum lint_pattern pattern, uint32_t file, uint32_t stack,
                   uint32_t first, uint32_t last, uint32_t most);

/* lint/rules.c */

void pc_lint_store(struct lint *lint, uint32_t thread, uint32_t file, const struct pc_memory *record);
void pc_lint_flush(struct lint *lint, uint32_t thread, uint32_t file, const struct pc_memory *record);
void pc_lint_fence(struct lint *lint, uint32_t thread, const struct pc_memory *record);
/* Some bytes of a line are persistent. */
void pc_lint_persist(struct lint *lint, struct lint_dirty *dirty, uint64_t bytes);

/* lint/sync.c */

/* Makes the dirty lines of a file between two offsets persistent; whether there were any. */
bool pc_lint_sync(struct lint *lint, uint32_t file, uint64_t from, uint64_t to, uint32_t stack);
/* What was stored between two offsets of a file is not there any more. */
void pc_lint_forget(struct lint *lint, uint32_t file, uint64_t from, uint64_t to);
/* At the end: what was never made persistent. */
void pc_lint_end(struct lint *lint);

/* lint/pass.c */

void pc_lint_walk(struct lint *lint);

static inline void pc_lint_fail(struct lint *lint, enum lint_error error, const char *why) {
    if (lint->error == LINT_FINE) {
        lint->error = error;
        lint->why = why;
    }
}

_Static_assert(sizeof(struct lint_site) == 40, "site");
_Static_assert(sizeof(struct lint_line) == 16, "line");

#endif

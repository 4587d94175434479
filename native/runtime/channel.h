/* The channel: memory that a tracked program shares with the process that checks it.
 *
 * The program's threads put records into rings, one ring each; the checker takes them out and puts findings
 * in. A record is whole as soon as its first word is written, so whatever ends the program, everything it did
 * until then is here and is checked. Nothing that the checker reads here is believed: a program can write
 * anywhere.
 *
 *   record, 16 bytes       63        32 31              8 7   6            0
 *                word    | size        | number of site  | lap | operation |
 *                address | address                                         |
 *
 * `lap` turns over each time the ring has been filled once: a record is new if its lap is that of its
 * position. */
#ifndef POWERCUT_CHANNEL_H
#define POWERCUT_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CHANNEL_VERSION = 2,
    CHANNEL_RINGS = 256, /* threads at a time */
    CHANNEL_INNER = 2,   /* rings of a thread beside its first */
    CHANNEL_SITES = 1 << 16,
    CHANNEL_STRINGS = 4 << 20, /* bytes of names of files and functions */
    CHANNEL_FINDINGS = 4096,   /* different ones; more are only counted */
    CHANNEL_BUFFER =
        1 << 15, /* records of a ring by default: half a megabyte stays in the second-level cache */
    CHANNEL_MOST_BUFFER = 1 << 24,
    CHANNEL_MOST_WORKERS = 64,
    SITE_UNKNOWN = 0, /* the first site stands for no place at all */
};
#define CHANNEL_MAGIC "PCUTCHAN"

struct record {
    _Atomic uint64_t word;
    uint64_t address;
};
enum {
    RECORD_LAP_SHIFT = 7,
    RECORD_SITE_SHIFT = 8,
    RECORD_SIZE_SHIFT = 32,
    RECORD_OPERATION = 0x7f,
    RECORD_SITE = 0xffffff,
};
#define RECORD_HUGE UINT32_MAX /* the size of everything that is larger than a record can say */

/* A place: a line of source, or (line 0) an instruction at `offset` in the object file `file`. */
struct channel_site {
    uint32_t file, function; /* where in the strings */
    uint32_t line;
    _Atomic uint32_t ready;
    uint64_t offset;
};

struct channel_finding {
    uint32_t kind;
    uint32_t at, write, other; /* numbers of sites */
    uint64_t address, size;
    uint32_t thread;
    _Atomic uint32_t ready; /* 0 again: taken back */
    _Atomic uint64_t count;
};

/* A signal's handler may come while its thread is in the middle of a record. That record's place must be left
 * alone until the handler has returned, so the handler has a ring of its own, an inner one: what it holds
 * belongs into the middle of the thread's records. PC_INSIDE says where: before the record at position
 * `address` of the ring around it and before the one at position `size` (its lower half) of the thread's
 * first ring. */
enum ring_state { RING_FREE, RING_TAKEN, RING_INNER };
struct channel_ring {
    _Alignas(64) _Atomic uint64_t taken; /* records that are checked: written by the checker */
    _Atomic uint32_t answered;           /* the last request up to which everything is checked */
    _Alignas(64) _Atomic uint32_t state;
    _Atomic uint32_t owner;                /* counts the threads that had it */
    _Atomic uint32_t inner[CHANNEL_INNER]; /* rings inside it, the outer one first; 0: none, else one more */
};

/* What processes wait for each other with: one sleeps until another rings. */
struct bell {
    _Atomic uint32_t rings, sleepers;
};

struct channel {
    char magic[8];
    uint32_t version;
    uint32_t buffer; /* records of each ring, a power of 2 */
    uint32_t workers;
    char model[20];
    _Atomic uint32_t rings;                 /* rings that were ever used: the first ones */
    _Atomic uint32_t threads, lost_threads; /* lost: not recorded, or no more */
    _Atomic uint32_t sites, strings, findings;
    _Atomic uint32_t lost_findings;
    _Atomic uint32_t attached;     /* programs that called pc_init */
    _Alignas(64) struct bell wake; /* the checker sleeps until there is enough to do */
    struct bell answers;           /* programs sleep until something is checked */
    _Atomic uint32_t request;      /* numbers the questions of programs whether all is checked */
    _Atomic uint32_t closing;      /* the program is at its end and waits for the report */
    _Atomic uint32_t done;         /* everything is checked; nothing comes any more */
    _Atomic uint32_t checker;      /* its process, once there is one */
    _Atomic uint64_t checked;      /* records */
    _Atomic uint64_t checking_ns;  /* CPU time of the workers */
    struct channel_site site[CHANNEL_SITES];
    struct channel_finding finding[CHANNEL_FINDINGS];
    struct channel_ring ring[CHANNEL_RINGS];
    char string[CHANNEL_STRINGS];
};

/* Memory for a channel, without a name; -1 and errno, or its descriptor. */
int channel_create(uint32_t buffer);

/* Map the channel of a descriptor; NULL and errno (EPROTO: it is none). */
struct channel *channel_map(int descriptor);

void channel_forget(struct channel *channel); /* give its memory back, keep its addresses readable */
struct record *channel_records(struct channel *channel, unsigned ring);
size_t channel_size(uint32_t buffer);

/* Note a place; SITE_UNKNOWN if there is no room. */
uint32_t channel_add_site(struct channel *channel, const char *file, const char *function, uint32_t line,
                          uint64_t offset);
const char *channel_string(const struct channel *channel, uint32_t at);

/* Note a finding that is not there yet; NULL if there is no room. */
struct channel_finding *channel_add_finding(struct channel *channel, const struct channel_finding *finding);

/* Sleep until the bell rings, unless it has rung since it was looked at, or the time is over. */
static inline uint32_t bell_look(struct bell *bell) {
    return atomic_load(&bell->rings);
}
void bell_wait(struct bell *bell, uint32_t seen, unsigned milliseconds);
void bell_ring(struct bell *bell);

/* A descriptor that is none of the standard ones, in the place of one that may be: a program may have closed
 * those. */
int above_standard(int descriptor);

bool process_is_gone(uint32_t pid);

#endif

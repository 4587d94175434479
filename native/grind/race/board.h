/* The board: what powercut tells the memory tracer's race mode, and what that tells back, apart from events.
 *
 * A file in memory of sizeof(struct pc_board) bytes, inherited and named by --race=N. Powercut writes the
 * plan before the program starts; the tool writes results as they come, so that a program that is killed
 * leaves them. `src/powercut/race/board.py` is the twin of this file.
 *
 * The board belongs to the first process that maps a file of the data folder: others run, but tell nothing.
 * What is told over runs must not depend on addresses: code is named by module and offset, threads by the
 * order of their creation (the first is 1), files by the order in which the process first mapped them (the
 * first is 1).
 *
 * All integers are little-endian. Powercut believes nothing here: the program can write to it.
 */
#ifndef POWERCUT_GRIND_RACE_BOARD_H
#define POWERCUT_GRIND_RACE_BOARD_H

#include <stdint.h>

#define PC_BOARD_MAGIC        0x45434152u /* "RACE" */
#define PC_BOARD_VERSION      1u
#define PC_BOARD_ARRIVALS     8192
#define PC_BOARD_SYNCS        8
#define PC_BOARD_SYNC_SITES   16
#define PC_BOARD_THREADS      64 /* threads whose kernel ids are told; later ones have indexes all the same */
#define PC_BOARD_FILES        64
#define PC_BOARD_BITMAP       65536 /* bytes */
#define PC_BOARD_SITES        16384
#define PC_BOARD_SHARED       8192
#define PC_BOARD_SHARED_SITES 8
#define PC_BOARD_CANDIDATES   16384

/* What race mode does besides counting. */
enum pc_board_flag {
    PC_BOARD_LOADS = 1,     /* LOAD records, for predictions */
    PC_BOARD_CANDIDATE = 2, /* CANDIDATE records */
    PC_BOARD_TAINT = 4,     /* EFFECT records; needs candidates */
    PC_BOARD_ORDER = 8,     /* ORDER records */
    PC_BOARD_ALIASES = 16,  /* alias pairs and shared words */
};

enum pc_board_mode {
    PC_BOARD_FREE = 0,  /* threads run as Valgrind has them */
    PC_BOARD_DELAY = 1, /* random delays before accesses */
    PC_BOARD_SYNC = 2,  /* the sync points below; those with an occurrence replay one interleaving */
};

/* Why the tool ended the program. */
enum pc_board_stop {
    PC_BOARD_RAN = 0,      /* it did not */
    PC_BOARD_DEADLOCK = 1, /* every thread waited for another one; ORDER records of kind STUCK tell where */
    PC_BOARD_TIMEOUT = 2,  /* it ran longer than run_ms, half of it without a flush; STUCK records, too */
    PC_BOARD_SLOW = 3,     /* it ran longer than run_ms, and still flushes; STUCK records, too */
};

/* An instruction. */
struct pc_board_site {
    uint64_t module; /* FNV-1a (64 bits) of the module's path; 0: code of no file */
    uint64_t offset; /* of the instruction in the module, as in a native frame of the trace (p_vaddr space) */
};

/* A sync point: loads that wait until a store of the point has happened and is not yet guaranteed. */
struct pc_board_sync {
    /* The plan. 0 stands for any thread, file, or occurrence. */
    uint64_t offset, length; /* bytes of the file; length 0: any address */
    uint32_t file;
    uint32_t load_count, store_count; /* sites below that are in use */
    uint32_t skip;                    /* waits left out at first */
    uint32_t privileged;              /* thread that goes on when all wait; 0: one of them by the seed */
    uint32_t reader, writer;          /* threads that wait and that signal */
    uint32_t load_occurrence,
        store_occurrence; /* of the site in that thread, from 1, at any mapped address */
    uint32_t tries;       /* stores that signal, from that occurrence on; 0: 1 */
    struct pc_board_site loads[PC_BOARD_SYNC_SITES], stores[PC_BOARD_SYNC_SITES];
    /* Results. */
    uint32_t reached;  /* loads that met the point while it was on and other threads lived */
    uint32_t waits;    /* of these, those that waited */
    uint32_t skipped;  /* those that were skipped */
    uint32_t signals;  /* stores that signalled */
    uint32_t hits;     /* loads of the point of another thread's store, between a signal and the end of its
                          writer's wait */
    uint32_t disabled; /* 1: threads waited for nothing, so the point was given up; `reached` says when */
    uint32_t chosen;   /* the privileged thread that was chosen; 0: none was needed */
    uint32_t reserved;
};

struct pc_board_plan {
    uint32_t magic, version;
    uint32_t flags; /* enum pc_board_flag, several added */
    uint32_t mode;  /* enum pc_board_mode */
    uint64_t seed;
    uint32_t delay_us;                 /* DELAY: the longest */
    uint32_t delay_one_in;             /* DELAY: how many accesses there are for each that is delayed */
    uint32_t wait_rounds, wait_ms;     /* SYNC: how long a reader waits at most; a round lets others run */
    uint32_t writer_rounds, writer_ms; /* SYNC: the same of a writer after its signal */
    uint32_t most_inter, most_intra;   /* CANDIDATE records for each pair of load site and store site */
    uint32_t run_ms;                   /* the program is ended after that; 0: never */
    uint32_t sync_count;
    uint32_t expected_count; /* arrivals below */
    uint32_t reserved;
};

/* A thread that came back from a call that may take long, and the turn that it had then: turns of all threads
 * are counted from 1. */
struct pc_board_arrival {
    uint32_t thread; /* its index */
    uint32_t turn;
};

/* A word of 8 bytes that several threads used. Sites are indexes of `sites`. */
struct pc_board_shared {
    uint64_t offset;
    uint32_t file;
    uint32_t threads;       /* bit i: thread i + 1; bit 31: any later one, too */
    uint32_t loads, stores; /* accesses counted: by another thread or site than the one before */
    uint32_t pairs;         /* accesses by another thread than the one before */
    uint32_t load_count, store_count;
    uint32_t load_sites[PC_BOARD_SHARED_SITES], store_sites[PC_BOARD_SHARED_SITES];
    uint32_t reserved;
};

/* A CANDIDATE record: entry i is candidate i + 1. With the occurrences, it can be met again. */
struct pc_board_candidate {
    uint64_t offset;
    uint32_t file;
    uint32_t size;
    uint32_t load_site, store_site; /* indexes of `sites` */
    uint32_t reader, writer;
    uint32_t load_occurrence, store_occurrence;
};

struct pc_board {
    struct pc_board_plan plan;
    struct pc_board_sync syncs[PC_BOARD_SYNCS];
    struct pc_board_arrival expected[PC_BOARD_ARRIVALS]; /* threads come back in these turns again */
    /* Results. */
    uint32_t process;  /* that the results are of; 0: no process mapped anything */
    uint32_t stop;     /* enum pc_board_stop */
    uint32_t threads;  /* created, with the first */
    uint32_t files;    /* mapped */
    uint64_t switches; /* accesses to mapped memory by another thread than the last one */
    uint64_t loads, stores;
    uint64_t inter, intra;                 /* loads of what is not guaranteed */
    uint64_t inter_dropped, intra_dropped; /* of these, those without a record */
    uint32_t delays;
    uint32_t aliases, blocks; /* bits set in the bitmaps */
    uint32_t site_count, shared_count, shared_dropped, candidate_count;
    uint32_t came_count;
    uint32_t thread_ids[PC_BOARD_THREADS]; /* of the kernel; by thread index - 1 */
    uint64_t inodes[PC_BOARD_FILES];       /* by file index - 1 */
    /* Pairs of accesses, one after the other, to one word by two threads: a hash of (site, whether what was
       there was guaranteed, thread) of both. */
    uint8_t alias_bitmap[PC_BOARD_BITMAP];
    /* Blocks of code of modules that are not the system's: a hash of module and offset. */
    uint8_t block_bitmap[PC_BOARD_BITMAP];
    struct pc_board_arrival came[PC_BOARD_ARRIVALS]; /* the first ones */
    struct pc_board_site sites[PC_BOARD_SITES];      /* index 0 stands for all that have no room */
    struct pc_board_shared shared[PC_BOARD_SHARED];
    struct pc_board_candidate candidates[PC_BOARD_CANDIDATES];
};

_Static_assert(sizeof(struct pc_board_site) == 16, "site");
_Static_assert(sizeof(struct pc_board_plan) == 72, "plan");
_Static_assert(sizeof(struct pc_board_sync) == 600, "sync point");
_Static_assert(sizeof(struct pc_board_shared) == 104, "shared word");
_Static_assert(sizeof(struct pc_board_candidate) == 40, "candidate");

#endif

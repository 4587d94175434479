/* The side of the tracked program: what its parts share. */
#ifndef POWERCUT_PROGRAM_H
#define POWERCUT_PROGRAM_H

#include "../channel.h"
#include "../engine/kinds.h"
#include "../quietly.h"
#include "../ranges.h"
#include "powercut.h"

#include <pthread.h>

/* One pc_init to one pc_exit. */
struct session {
    struct channel *_Atomic channel; /* NULL: not initialised */
    uint32_t number;                 /* counts the sessions: numbers of sites hold for one */
    bool every_thread;
    _Atomic bool quiet;
    bool automatic; /* begun before the program's own pc_init, which takes it over */
    bool attached;  /* powercut check does the checking, and the reporting */
    uint32_t pid;
    pthread_mutex_t lock;
};
extern struct session session;

/* Changes whenever a thread must look up from its work: a new session, its end, other pools or exclusions. */
extern _Atomic uint32_t pc_phase;

/* Where a thread's next record goes, and until where it may go on without asking. */
struct lane {
    uintptr_t putting;      /* the stack of the call that is in the middle of a record; 0: none is */
    struct record *records; /* NULL: it has no ring */
    uint64_t next, limit, mask;
    uint64_t around, first; /* of an inner lane: what its last PC_INSIDE said */
    unsigned ring;
};
enum { LANES = 1 + CHANNEL_INNER };

/* A thread's own. The first lane is the usual one; the others are for handlers that interrupt a record. */
struct self {
    uint32_t phase;     /* pc_phase if it is tracked and knows all; 0 if not tracked */
    uint32_t untracked; /* pc_phase if it is known not to be tracked */
    uint32_t session, pid;
    bool started;
    bool is_lost;  /* it could not be recorded at a time, and is not from then on */
    uint32_t told; /* the version of pools and exclusions its ring knows */
    struct lane lane[LANES];
};
extern _Thread_local struct self self __attribute__((tls_model("initial-exec")));

/* lanes.c */
bool take_ring(struct channel *channel, struct lane *lane, enum ring_state state);
void put_record(unsigned code, uint64_t address, uint64_t size, uint32_t site);
void put_order(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size, uint32_t site);
void lose_thread(struct channel *channel, uint32_t site); /* say so, and record no more of it */

/* tracking.c */
bool ensure_ring(uint32_t site); /* also of a thread that is not started */
void leave_ring(uint32_t site);  /* the thread ends, or the session does */
void forget_self(void);          /* in a forked child: the ring is the parent's */

/* sites.c */
uint32_t number_of(struct pc_site *site);

/* ranges of the whole program: objects.c */
void tell_ranges(void);
void objects_forget(void);
void objects_in_child(void);

/* What is wrong by itself and is known here already. */
void complain(enum kind_number kind, struct pc_site *site);
void count_or_add(struct channel *channel, enum kind_number kind, uint32_t at);

/* traced.c: whether the program runs under the memory tracer, which then does all the recording; and tell it
 * an operation: false if there is none. */
bool is_traced(void);
bool tell_tracer(enum pc_operation operation, const volatile void *address, size_t size);

/* helper.c: a process that checks, for a program that was not started by powercut check. */
bool start_helper(struct channel *channel, bool quiet);

#endif

/* The side of the tracked program: what its parts share. */
#ifndef POWERCUT_PROGRAM_H
#define POWERCUT_PROGRAM_H

#include "../channel.h"
#include "../engine/kinds.h"
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

/* A thread's own: where its next record goes, and until where it may go on without asking. */
struct self {
    uint32_t phase; /* pc_phase if it is tracked and knows all; 0 if not tracked */
    uint32_t session;
    bool started;
    uint32_t told; /* the version of pools and exclusions its ring knows */
    unsigned ring;
    struct record *records; /* NULL: it has no ring */
    uint64_t next, limit, mask;
};
extern _Thread_local struct self self __attribute__((tls_model("initial-exec")));

/* tracking.c */
bool ensure_ring(uint32_t site); /* also of a thread that is not started */
void put_record(unsigned code, uint64_t address, uint64_t size, uint32_t site);
void leave_ring(uint32_t site); /* the thread ends, or the session does */
void forget_self(void);         /* in a forked child: the ring is the parent's */

/* sites.c */
uint32_t number_of(struct pc_site *site);

/* ranges of the whole program: objects.c */
void tell_ranges(void);
void objects_forget(void);

/* What is wrong by itself and is known here already. */
void complain(enum kind_number kind, struct pc_site *site);

/* traced.c: whether the program runs under the memory tracer, which then does all the recording; and tell it
 * an operation: false if there is none. */
bool is_traced(void);
bool tell_tracer(enum pc_operation operation, const volatile void *address, size_t size);

/* helper.c: a process that checks, for a program that was not started by powercut check. */
bool start_helper(struct channel *channel, bool quiet);

#endif

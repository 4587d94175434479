/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The threads as race mode knows them: which was created when, who lives, who waits for what. */
#ifndef POWERCUT_GRIND_RACE_THREAD_STATES_H
#define POWERCUT_GRIND_RACE_THREAD_STATES_H

#include "board_access.h"
#include "channel.h"
#include "threads.h"

/* Bytes of a mapped file. */
struct pc_place {
    UInt file;   /* index of the board, 0: none */
    UInt number; /* of the file in records */
    ULong offset, end;
};

struct pc_thread_state {
    UInt index;            /* order of creation, from 1; 0: there is no such thread */
    Int id;                /* the kernel's; 0: it has not run yet */
    Int call;              /* number of the system call it is in, -1: none */
    Int last_call;         /* the same of the one before */
    Int descriptor;        /* the first argument of those, if it is one */
    ULong calls;           /* how many it has made */
    Addr futex;            /* what it waits at, if the call is a futex wait without a limit; else 0 */
    UInt expected;         /* what must be there for it to sleep */
    Bool looking;          /* it has not gone to sleep yet: deadlock.c looks whether that would be for ever */
    Int joined;            /* the thread whose end it waits for, if others may end that wait, too; else 0 */
    Bool waiting;          /* race mode lets it wait; who clears this lets it go on */
    UInt point;            /* the sync point it waits at, */
    struct pc_place place; /* and what it wants to load */
    Bool bypass;           /* it waits no more: the privileged one */
    ULong bits;            /* who it is, in an access (accesses.h); its epoch grows at each ORDER record */
    Bool settled;          /* it sleeps: in its call, or at Valgrind's lock, for which it has asked */
    Int file;              /* that tells its state, while it is open; 0: it is not, -1: there is none */
    ULong place_in_queue;  /* for a turn (turnstile.c); 0: it wants none */
    Bool arrives;          /* it has none because its call may take long (arrivals.c) */
    Addr sleeps_at;        /* the futex where the kernel lets it sleep, with or without a limit; 0: none */
    ULong asleep_since;    /* the order in which threads went to sleep */
    UInt lots;             /* how often it was left to the seed whether it lets others run */
};

extern struct pc_thread_state pc_thread_states[PC_CHANNEL_SLOTS]; /* by Valgrind's thread number */

/* The running thread's. */
static inline struct pc_thread_state *pc_self(void) {
    return &pc_thread_states[pc_running < PC_CHANNEL_SLOTS ? pc_running : 0];
}
UInt pc_thread_states_living(void);

/* The running thread is ordered with others. */
void pc_thread_states_ordered(void);

void pc_thread_states_created(ThreadId tid);
void pc_thread_states_started(ThreadId tid, Int id);
void pc_thread_states_ended(ThreadId tid);
void pc_thread_states_forked(ThreadId tid);
void pc_thread_states_in_call(ThreadId tid, UInt number, const UWord *args);
void pc_thread_states_out_of_call(ThreadId tid);

/* Whether a thread sleeps until another one of the process wakes it, or ends. Joining one is a wait for the
 * kernel's id of a thread to be gone, which other processes could end as well, but do not. */
Bool pc_thread_waits_for_others(const struct pc_thread_state *thread);

/* A thread begins a turn: Valgrind lets it run, or race mode does again. */
void pc_thread_states_turn(ThreadId tid);
/* It has got Valgrind's lock; its turn begins when it is the next one. */
void pc_thread_states_next_turn(ThreadId tid);
/* Its turn ends, and it may give the lock away. */
void pc_thread_states_turn_ends(void);

/* The one whose turn it was last; VG_INVALID_THREADID: none. */
ThreadId pc_thread_states_last(void);

/* Blocks of code that all threads have executed, as Valgrind told when a turn began last: a clock that does
 * not go slower on a busy machine. */
extern ULong pc_executed_blocks;

/* The running thread is about to make a call, or its turn ends: who is on the way to the lock comes first. */
void pc_thread_states_settle(void);
/* A thread was created, or a call may have woken some: they are waited for until they have asked for the
 * lock. */
void pc_thread_states_await(Int id);
void pc_thread_states_woken(void);

/* The others have a turn each, if they want one. */
void pc_thread_states_pause(void);

/* Others may run for that time. */
void pc_thread_states_nap(UInt microseconds);
/* Whether the thread is to end as soon as it can, because the process is killed: it waits for nothing. */
Bool pc_thread_states_leaves(ThreadId tid);

/* How it went while a thread let the others run. */
enum pc_round {
    PC_ROUND_RUN,   /* some thread had a turn */
    PC_ROUND_QUIET, /* none, but some thread is about to have one: it starts, or is in a call that ends */
    PC_ROUND_DEAD,  /* none, and none will: each one waits in race mode or sleeps in a call */
};
enum pc_round pc_thread_states_let_run(void);

#endif

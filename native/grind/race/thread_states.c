/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: told of every thread's creation, start, end and calls. After: see thread_states.h.
 *
 * Only one thread runs at a time, the one that holds Valgrind's lock. A thread that is back from its call but
 * has not got the lock yet looks like one that sleeps in it. Who wants the lock gets it before one who asks
 * later; so a thread that sleeps before and after we let the lock go, without having had a turn, really
 * sleeps.
 *
 * When a thread asks depends on the machine: it may be slow between giving the lock away and asking again, or
 * on its way out of the kernel. So who has the lock does not give it away, and makes no call, before each
 * thread that is on its way sleeps: at the lock, or in a call that takes longer. Then the same plan makes the
 * same threads run in the same order, however busy the machine is; replays live on that.
 */
#include "thread_states.h"

#include "accesses.h"
#include "arrivals.h"
#include "turnstile.h"

#define NAP         100u   /* microseconds */
#define GLANCE      50u    /* microseconds between two looks at a thread that is on its way */
#define QUICK_LOOKS 100u   /* before that */
#define LOOKS       20000u /* then it is not waited for any longer: it would be a second */
#define MOST_LOOKS  10000u /* the same for who has the next turn */

#define YIELDING 4 /* ThreadStatus of Valgrind's core: ready, without the lock */
extern void VG_(release_BigLock)(ThreadId tid, Int status, const HChar *who);
extern void VG_(acquire_BigLock)(ThreadId tid, const HChar *who);
extern Bool VG_(is_exiting)(ThreadId tid);
extern Bool VG_(in_generated_code);
extern UInt VG_(stats__n_xIndirs_32), VG_(stats__n_xIndir_hits1_32), VG_(stats__n_xIndir_hits2_32),
    VG_(stats__n_xIndir_hits3_32), VG_(stats__n_xIndir_misses_32);

struct pc_thread_state pc_thread_states[PC_CHANNEL_SLOTS];
static ThreadId highest;
static ULong turns;     /* of all threads */
static ThreadId holder; /* of Valgrind's lock, last */
static Bool on_the_way; /* some thread is */
static Int leaving;     /* the kernel's id of a thread that ends, which wakes who joins it */
ULong pc_executed_blocks;

ThreadId pc_thread_states_last(void) {
    return holder;
}

UInt pc_thread_states_living(void) {
    UInt living = 0;
    for (ThreadId tid = 1; tid <= highest; tid++)
        living += pc_thread_states[tid].index != 0;
    return living;
}

void pc_thread_states_created(ThreadId tid) {
    if (tid >= PC_CHANNEL_SLOTS)
        return;
    highest = tid > highest ? tid : highest;
    UInt index = ++pc_board->threads;
    ULong bits = (ULong)index << 24 & PC_ACCESS_THREAD;
    pc_thread_states[tid] =
        (struct pc_thread_state){.index = index, .call = -1, .last_call = -1, .bits = bits};
    pc_turnstile_queue(&pc_thread_states[tid]);
}

void pc_thread_states_ordered(void) {
    ULong bits = pc_self()->bits, one = PC_ACCESS_EPOCH & ~(PC_ACCESS_EPOCH << 1);
    if (pc_board_wants(PC_BOARD_LOADS))
        pc_self()->bits = (bits & ~PC_ACCESS_EPOCH) | (((bits & PC_ACCESS_EPOCH) + one) & PC_ACCESS_EPOCH);
}

void pc_thread_states_started(ThreadId tid, Int id) {
    if (tid >= PC_CHANNEL_SLOTS)
        return;
    if (pc_thread_states[tid].index == 0)
        pc_thread_states_created(tid); /* the first one */
    pc_thread_states[tid].id = id;
    if (pc_thread_states[tid].index <= PC_BOARD_THREADS)
        pc_board->thread_ids[pc_thread_states[tid].index - 1] = (UInt)id;
}

void pc_thread_states_ended(ThreadId tid) {
    if (tid >= PC_CHANNEL_SLOTS)
        return;
    pc_turnstile_ends(&pc_thread_states[tid]);
    pc_thread_states[tid].index = 0;
    leaving = pc_thread_states[tid].id;
    on_the_way = True;
    if (pc_thread_states[tid].file > 0)
        VG_(close)(pc_thread_states[tid].file);
    pc_thread_states[tid].file = 0;
}

void pc_thread_states_forked(ThreadId tid) {
    for (ThreadId other = 1; other <= highest; other++)
        if (other != tid)
            pc_thread_states_ended(other);
}

#define FUTEX_WAIT_COMMAND        0
#define FUTEX_WAIT_BITSET_COMMAND 9
#define FUTEX_COMMANDS            0x7f
#define FUTEX_PRIVATE             128

void pc_thread_states_in_call(ThreadId tid, UInt number, const UWord *args) {
    if (tid >= PC_CHANNEL_SLOTS)
        return;
    UInt command = (UInt)args[1] & FUTEX_COMMANDS;
    Bool waits = number == __NR_futex && args[3] == 0 &&
                 (command == FUTEX_WAIT_COMMAND || command == FUTEX_WAIT_BITSET_COMMAND);
    pc_thread_states[tid].call = (Int)number;
    pc_thread_states[tid].descriptor = (Int)args[0];
    pc_thread_states[tid].calls++;
    pc_thread_states[tid].futex = waits ? args[0] : 0;
    pc_thread_states[tid].expected = (UInt)args[2];
    pc_thread_states[tid].joined = waits && (args[1] & FUTEX_PRIVATE) == 0 ? (Int)args[2] : 0;
}

Bool pc_thread_waits_for_others(const struct pc_thread_state *thread) {
    Bool is_woken = thread->place_in_queue != 0 && !thread->looking; /* though not back from its call */
    if (thread->call != __NR_futex || thread->futex == 0 || is_woken)
        return False;
    for (ThreadId tid = 1; thread->joined != 0 && tid <= highest; tid++)
        if (pc_thread_states[tid].index != 0 && pc_thread_states[tid].id == thread->joined)
            return True;
    return thread->joined == 0;
}

void pc_thread_states_out_of_call(ThreadId tid) {
    if (tid >= PC_CHANNEL_SLOTS || pc_thread_states[tid].call < 0)
        return;
    pc_thread_states[tid].last_call = pc_thread_states[tid].call;
    pc_thread_states[tid].call = -1;
}

/* Valgrind's scheduler would count what the block at hand has jumped twice. */
static void forget_jumps(void) {
    VG_(stats__n_xIndirs_32) = VG_(stats__n_xIndir_hits1_32) = VG_(stats__n_xIndir_hits2_32) = 0;
    VG_(stats__n_xIndir_hits3_32) = VG_(stats__n_xIndir_misses_32) = 0;
}

static void sleep_for(UInt microseconds) {
    struct {
        Long seconds, nanoseconds;
    } time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    Long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(__NR_nanosleep), "D"(&time), "S"(0)
                     : "rcx", "r11", "memory");
}

/* Valgrind leaves itself a dozen descriptors above the program's: one for each thread needs more. Where the
 * limit cannot be raised, as its maximum is reached (which is usual in containers), the program gets fewer.
 */
static void make_room(void) {
    static Bool made;
    struct vki_rlimit limit;
    if (made || VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit) != 0)
        return;
    made = True;
    UWord raised = limit.rlim_max - limit.rlim_cur;
    if (raised >= PC_CHANNEL_SLOTS) {
        limit.rlim_cur += PC_CHANNEL_SLOTS;
        VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit);
        return;
    }
    limit.rlim_cur = limit.rlim_max;
    VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit);
    Int missing = (Int)(PC_CHANNEL_SLOTS - raised);
    if (VG_(fd_hard_limit) > 2 * missing)
        VG_(fd_hard_limit) -= missing;
    if (VG_(fd_soft_limit) > VG_(fd_hard_limit))
        VG_(fd_soft_limit) = VG_(fd_hard_limit);
}

/* Out of the program's reach; less than 0 if there is no room, and then nobody waits for the thread. */
static Int open_state(Int id) {
    HChar path[64];
    make_room();
    VG_(snprintf)(path, sizeof(path), "/proc/self/task/%d/stat", id);
    SysRes file = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(file))
        return -1;
    Int moved = VG_(fcntl)((Int)sr_Res(file), VKI_F_DUPFD, (Addr)VG_(fd_hard_limit));
    VG_(close)((Int)sr_Res(file));
    if (moved >= 0)
        VG_(fcntl)(moved, VKI_F_SETFD, VKI_FD_CLOEXEC);
    return moved;
}

/* The state of a thread as the file says, from its start: 'S' if it sleeps, '?' if it is gone. */
static HChar state_in(Int file) {
    HChar text[256];
    Long got;
    register Long start __asm__("r10") = 0;
    __asm__ volatile("syscall"
                     : "=a"(got)
                     : "a"(__NR_pread64), "D"((Long)file), "S"(text), "d"(sizeof(text) - 1), "r"(start)
                     : "rcx", "r11", "memory");
    text[got < 0 ? 0 : got] = '\0';
    const HChar *bracket = VG_(strrchr)(text, ')');
    return bracket != NULL && bracket[1] == ' ' ? bracket[2] : '?';
}

/* The file stays open: calls that name files stop at the tracer, which takes its time on a busy machine. */
static Int state_file(struct pc_thread_state *thread) {
    if (thread->file == 0)
        thread->file = open_state(thread->id);
    return thread->file;
}

static void give_way(void) {
    Long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(__NR_sched_yield) : "rcx", "r11", "memory");
}

/* Most often it needs a few microseconds, perhaps of the very processor that runs this; to sleep at once
 * would cost a turn of a busy machine. */
static void await(Int file) {
    HChar state = state_in(file);
    for (UInt looks = 0; looks < LOOKS && (state == 'R' || state == 'D' || state == 't'); looks++) {
        if (looks < QUICK_LOOKS)
            give_way();
        else
            sleep_for(GLANCE);
        state = state_in(file);
    }
}

void pc_thread_states_await(Int id) {
    Int file = open_state(id);
    await(file);
    VG_(close)(file);
}

static void settle_all(void) {
    for (ThreadId tid = 1; tid <= highest; tid++) {
        struct pc_thread_state *thread = &pc_thread_states[tid];
        if (tid == pc_running || thread->index == 0 || thread->id == 0 || thread->settled)
            continue;
        await(state_file(thread));
        thread->settled = True;
    }
}

void pc_thread_states_woken(void) {
    for (ThreadId tid = 1; tid <= highest; tid++)
        pc_thread_states[tid].settled = False;
    settle_all();
}

/* Who had the lock before may be about to sleep until a word changes, and must sleep before it does. */
static void await_holder(ThreadId tid) {
    struct pc_thread_state *before = &pc_thread_states[holder < PC_CHANNEL_SLOTS ? holder : 0];
    if (tid != holder && before->index != 0 && before->id != 0 && before->call == __NR_futex)
        await(state_file(before));
}

/* A thread has got the lock: who had it before is on its way. */
static void take_lock(ThreadId tid) {
    if (tid == holder || tid >= PC_CHANNEL_SLOTS)
        return;
    pc_thread_states[holder].settled = False;
    pc_thread_states[tid].settled = False;
    holder = tid;
    on_the_way = True;
}

void pc_thread_states_settle(void) {
    if (!on_the_way)
        return;
    on_the_way = False;
    if (leaving == 0) {
        settle_all();
    } else {
        pc_thread_states_await(leaving);
        leaving = 0;
        pc_thread_states_woken();
    }
}

/* Lets the lock go, also for that time if it is not 0, and gets it back. */
static void hand_on(ThreadId self, UInt microseconds) {
    Bool generated = VG_(in_generated_code);
    VG_(in_generated_code) = False;
    forget_jumps();
    VG_(release_BigLock)(self, YIELDING, "powercut");
    if (microseconds > 0)
        sleep_for(microseconds);
    VG_(acquire_BigLock)(self, "powercut");
    VG_(in_generated_code) = generated;
    forget_jumps();
    pc_thread_runs(self);
}

/* It has the lock. Whose turn it is comes first; if that one does not come at all, it is not waited for. */
static void await_turn(ThreadId self) {
    if (self >= PC_CHANNEL_SLOTS)
        return;
    const struct pc_thread_state *thread = &pc_thread_states[self];
    ULong before = turns;
    for (UInt looks = 0; !pc_turnstile_is_next(thread) || !pc_arrivals_fit(thread, turns + 1); looks++) {
        if (before != turns) /* somebody else has had one */
            looks = 0;
        before = turns;
        if (looks >= MOST_LOOKS || VG_(is_exiting)(self)) {
            pc_turnstile_pass(thread);
            pc_arrivals_give_up();
            return;
        }
        hand_on(self, looks < QUICK_LOOKS ? 0 : GLANCE);
    }
}

static void let_go(UInt microseconds) {
    ThreadId self = pc_running;
    pc_thread_states_settle();
    if (microseconds > 0)
        pc_turnstile_leave(pc_self());
    else
        pc_turnstile_queue(pc_self());
    hand_on(self, microseconds);
    await_turn(self);
    pc_turnstile_leave(pc_self());
    await_holder(self);
    take_lock(self);
}

void pc_thread_states_turn(ThreadId tid) {
    turns++;
    pc_thread_states_out_of_call(tid);
    take_lock(tid);
}

void pc_thread_states_next_turn(ThreadId tid) {
    await_turn(tid);
    if (tid < PC_CHANNEL_SLOTS) {
        if (pc_thread_states[tid].arrives)
            pc_arrivals_came(&pc_thread_states[tid], turns + 1);
        pc_thread_states[tid].arrives = False;
        pc_turnstile_leave(&pc_thread_states[tid]);
    }
    await_holder(tid);
    pc_thread_states_turn(tid);
}

void pc_thread_states_turn_ends(void) {
    pc_thread_states_settle();
    if (pc_guest != NULL &&
        (Int)pc_guest->host_EvC_COUNTER <= 0) /* it is used up; often, code is just missing */
        pc_turnstile_queue(pc_self());
}

Bool pc_thread_states_leaves(ThreadId tid) {
    return VG_(is_exiting)(tid);
}

void pc_thread_states_nap(UInt microseconds) {
    let_go(microseconds);
}

/* Calls that end by themselves. */
static Bool is_timed(Int call) {
    return call == __NR_nanosleep || call == __NR_clock_nanosleep;
}

static Bool sleeps(struct pc_thread_state *thread) {
    return thread->id != 0 && thread->call >= 0 && !is_timed(thread->call) &&
           state_in(state_file(thread)) == 'S';
}

/* Whether all others wait or sleep. */
static Bool all_sleep(void) {
    for (ThreadId tid = 1; tid <= highest; tid++) {
        struct pc_thread_state *thread = &pc_thread_states[tid];
        if (tid != pc_running && thread->index != 0 && !thread->waiting && !sleeps(thread))
            return False;
    }
    return True;
}

enum pc_round pc_thread_states_let_run(void) {
    ULong before = turns;
    let_go(0);
    if (turns != before)
        return PC_ROUND_RUN;
    Bool slept = all_sleep();
    sleep_for(NAP); /* with the lock, so that those who wait keep their order; who wakes up gets it then */
    let_go(0);
    if (turns != before)
        return PC_ROUND_RUN;
    return slept && all_sleep() ? PC_ROUND_DEAD : PC_ROUND_QUIET;
}

void pc_thread_states_pause(void) {
    let_go(0);
    pc_thread_states_turn(pc_running);
}

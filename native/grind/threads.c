/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: Valgrind tells when threads start, run and end. After: pc_running is the one that runs, and its
 * slot in the page holds its kernel id, so that the tracer knows it by that.
 */
#include "threads.h"

#include "race/race.h"
#include "requests.h"
#include "taint/taint.h"

ThreadId pc_running = VG_INVALID_THREADID;
UInt pc_pending;
Int pc_thread_id;
const VexGuestAMD64State *pc_guest;
Bool pc_thread_known;

static UInt pending_of[PC_CHANNEL_SLOTS];
static Addr guest_offset; /* of a thread's registers in what Valgrind knows of it */

static struct pc_channel_thread *slot(ThreadId tid) {
    return tid < PC_CHANNEL_SLOTS && pc_page != NULL ? &pc_page->threads[tid] : NULL;
}

static Int kernel_id(void) {
    Long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(__NR_gettid) : "rcx", "r11", "memory");
    return (Int)result;
}

static void set_running(ThreadId tid) {
    const struct pc_channel_thread *own = slot(tid);
    pc_running = tid;
    pc_thread_id = own != NULL ? own->tid : 0;
    if (pc_thread_known)
        pc_guest = (const VexGuestAMD64State *)((Addr)VG_(get_ThreadState)(tid) + guest_offset);
}

void pc_thread_found(const VexGuestAMD64State *guest) {
    guest_offset = (Addr)guest - (Addr)VG_(get_ThreadState)(pc_running);
    pc_guest = guest;
    pc_thread_known = True;
}

void pc_thread_runs(ThreadId tid) {
    if (tid == pc_running)
        return;
    if (pc_running < PC_CHANNEL_SLOTS)
        pending_of[pc_running] = pc_pending;
    set_running(tid);
    pc_pending = tid < PC_CHANNEL_SLOTS ? pending_of[tid] : 0;
}

void pc_thread_tell(Addr rip) {
    struct pc_channel_thread *own = slot(pc_running);
    if (own == NULL)
        return;
    own->registers = (struct pc_guest_registers){.rip = rip,
                                                 .rsp = pc_guest->guest_RSP,
                                                 .rbp = pc_guest->guest_RBP,
                                                 .rbx = pc_guest->guest_RBX,
                                                 .r12 = pc_guest->guest_R12,
                                                 .r13 = pc_guest->guest_R13,
                                                 .r14 = pc_guest->guest_R14,
                                                 .r15 = pc_guest->guest_R15};
}

Int pc_in_call(Int own) {
    struct pc_channel_thread *thread = slot(pc_running);
    if (thread == NULL)
        return 0;
    Int before = thread->in_call;
    *(volatile Int *)&thread->in_call = own;
    return before;
}

void pc_thread_forked(ThreadId tid) {
    VG_(memset)(pending_of, 0, sizeof(pending_of));
    pc_pending = 0;
    struct pc_channel_thread *own = slot(tid);
    if (own != NULL)
        own->tid = kernel_id();
    set_running(tid);
}

/* In the context of the new thread, before its first instruction. */
static void on_first_instruction(ThreadId tid) {
    pc_thread_runs(tid);
    pc_pending = 0;
    struct pc_channel_thread *own = slot(tid);
    if (own != NULL)
        *own = (struct pc_channel_thread){.tid = kernel_id()};
    set_running(tid);
    pc_taint_thread_started(tid);
    pc_race_thread_started(tid, pc_thread_id);
}

/* Also after calls that have no end of their own, as the return from a signal handler. */
static void on_start_of_code(ThreadId tid, ULong blocks) {
    pc_thread_runs(tid);
    pc_in_call(0);
    pc_race_turn(tid, blocks);
}

static void on_end_of_code(ThreadId tid, ULong blocks) {
    pc_race_turn_ends();
}

static void on_exit(ThreadId tid) {
    struct pc_channel_thread *own = slot(tid);
    if (own != NULL)
        own->tid = 0;
    pc_race_thread_ended(tid);
}

static void on_creation(ThreadId tid, ThreadId child) {
    pc_race_thread_created(child);
}

void pc_threads_init(void) {
    VG_(track_pre_thread_ll_create)(on_creation);
    VG_(track_pre_thread_first_insn)(on_first_instruction);
    VG_(track_start_client_code)(on_start_of_code);
    VG_(track_stop_client_code)(on_end_of_code);
    VG_(track_pre_thread_ll_exit)(on_exit);
}

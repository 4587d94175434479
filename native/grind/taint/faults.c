/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a program runs whose data has labels. After a fault: the board tells the labels of what the
 * instruction worked with, and of the conditions that led there. The values of registers at a fault are not
 * in memory, so uses are noted before they happen, where they have labels.
 */
#include "faults.h"

#include "emit.h"
#include "flow.h"
#include "origins.h"
#include "race/race.h"
#include "stacks.h"
#include "threads.h"
#include "versions.h"

#define FATAL_SIGNAL 3 /* VgSrc_FatalSig */

Bool pc_faults_wanted;

void __real_vgPlain_nuke_all_threads_except(ThreadId me, UInt reason);
void __wrap_vgPlain_nuke_all_threads_except(ThreadId me, UInt reason);

/* The site's size is the kind of the use. */
static void on_use(pc_site site, Addr address, ULong sets) {
    struct pc_label_thread *thread = pc_origins_thread(pc_running);
    if (thread == NULL)
        return;
    thread->uses[thread->next_use % PC_LABEL_USES] = (struct pc_label_use){.order = ++pc_origins_board->order,
                                                                           .pc = PC_SITE_PC(site),
                                                                           .address = address,
                                                                           .labels = pc_unpacked(sets),
                                                                           .kind = PC_SITE_SIZE(site)};
    thread->next_use = (thread->next_use + 1) % PC_LABEL_USES;
}

/* The place of a branch: its own, or that of the one that was not met for the longest time. */
static struct pc_label_branch *place_of(struct pc_label_thread *thread, Addr pc) {
    struct pc_label_branch *oldest = thread->branches;
    for (UInt i = 0; i < PC_LABEL_BRANCHES; i++) {
        struct pc_label_branch *branch = &thread->branches[i];
        if (branch->pc == pc && branch->order != 0)
            return branch;
        if (branch->order < oldest->order)
            oldest = branch;
    }
    oldest->count = 0;
    return oldest;
}

static void on_branch(Addr pc, ULong sets) {
    struct pc_label_thread *thread = pc_origins_thread(pc_running);
    if (thread == NULL)
        return;
    struct pc_label_branch *branch = place_of(thread, pc);
    *branch = (struct pc_label_branch){.order = ++pc_origins_board->order,
                                       .pc = pc,
                                       .count = branch->count + 1,
                                       .labels = pc_unpacked(sets),
                                       .stack = pc_stack(pc)};
}

/* Calls a helper if the lane has labels. */
static void note(struct pc_taint_pass *pass, UInt kind, IRExpr *address, const struct pc_lane *lane) {
    if (pc_lane_is_empty(lane))
        return;
    IRExpr *any = unary(pass->out, Iop_CmpNEZ64, pc_either(pass, lane->atoms[0], lane->atoms[1]));
    IRExpr *sets = pc_packed(pass, lane->atoms[0], lane->atoms[1]);
    if (kind == 0)
        call(pass->out, "on_branch", on_branch, mkIRExprVec_2(word(pass->pc), sets), any);
    else
        call(pass->out, "on_use", on_use, mkIRExprVec_3(word(PC_SITE(pass->pc, kind, 0, 0)), address, sets),
             any);
}

static void note_address(struct pc_taint_pass *pass, UInt kind, IRExpr *address) {
    struct pc_shade shade = pc_flow_atom(pass, address);
    note(pass, kind, address, &shade.lane[0]);
}

static Bool divides(const IRExpr *expression) {
    switch (expression->tag == Iex_Binop ? expression->Iex.Binop.op : Iop_INVALID) {
    case Iop_DivModU64to32:
    case Iop_DivModS64to32:
    case Iop_DivModU128to64:
    case Iop_DivModS128to64:
        return True;
    default:
        return False;
    }
}

static void before_division(struct pc_taint_pass *pass, const IRExpr *expression) {
    IRExpr *operands[] = {expression->Iex.Binop.arg1, expression->Iex.Binop.arg2};
    struct pc_lane all = pc_flow_all(pass, operands, 2);
    note(pass, PC_LABEL_USE_DIVIDE, word(0), &all);
}

void pc_faults_place(IRSB *out, const IRStmt *statement, Addr pc) {
    if (pc_faults_wanted && statement->tag == Ist_WrTmp && divides(statement->Ist.WrTmp.data))
        addStmtToIRSB(out, IRStmt_Put(offsetof(VexGuestAMD64State, guest_RIP), word(pc)));
}

void pc_faults_before(struct pc_taint_pass *pass, const IRStmt *statement) {
    if (!pc_faults_wanted)
        return;
    switch (statement->tag) {
    case Ist_WrTmp: {
        const IRExpr *data = statement->Ist.WrTmp.data;
        if (data->tag == Iex_Load)
            note_address(pass, PC_LABEL_USE_LOAD, data->Iex.Load.addr);
        else if (divides(data))
            before_division(pass, data);
        break;
    }
    case Ist_Store:
        note_address(pass, PC_LABEL_USE_STORE, statement->Ist.Store.addr);
        break;
    case Ist_StoreG:
        note_address(pass, PC_LABEL_USE_STORE, statement->Ist.StoreG.details->addr);
        break;
    case Ist_LoadG:
        note_address(pass, PC_LABEL_USE_LOAD, statement->Ist.LoadG.details->addr);
        break;
    case Ist_CAS:
        note_address(pass, PC_LABEL_USE_STORE, statement->Ist.CAS.details->addr);
        break;
    case Ist_Exit: {
        struct pc_shade guard = pc_flow_atom(pass, statement->Ist.Exit.guard);
        note(pass, 0, NULL, &guard.lane[0]);
        break;
    }
    default:
        break;
    }
}

void pc_faults_end(struct pc_taint_pass *pass) {
    if (pc_faults_wanted && pass->in->next->tag == Iex_RdTmp)
        note_address(pass, PC_LABEL_USE_JUMP, pass->in->next);
}

static void report(ThreadId tid, UInt kind, Int number) {
    pc_thread_runs(tid);
    const struct pc_label_thread *thread = pc_origins_thread(tid);
    if (thread == NULL || pc_origins_board->fault_count >= PC_LABEL_FAULTS)
        return;
    Addr pc = pc_versions_address(VG_(get_IP)(tid));
    pc_origins_board->faults[pc_origins_board->fault_count++] =
        (struct pc_label_fault){.order = ++pc_origins_board->order,
                                .pc = pc,
                                .kind = kind,
                                .number = number,
                                .stack = pc_stack(pc),
                                .thread = *thread};
}

void pc_faults_exit(ThreadId tid, Int code) {
    if ((code & 255) != 0)
        report(tid, PC_LABEL_FAULT_EXIT, code & 255);
}

static void on_signal(ThreadId tid, Int number, Bool alternate_stack) {
    pc_versions_before_signal(tid);
    if (!pc_faults_wanted)
        return;
    Bool fault = number == VKI_SIGSEGV || number == VKI_SIGBUS || number == VKI_SIGFPE ||
                 number == VKI_SIGILL || number == VKI_SIGABRT;
    if (fault)
        report(tid, PC_LABEL_FAULT_SIGNAL, number);
}

/* The only function that Valgrind's core calls on its way to the end by a signal that others can see. */
void __wrap_vgPlain_nuke_all_threads_except(ThreadId me, UInt reason) {
    if (reason == FATAL_SIGNAL) {
        report(me, PC_LABEL_FAULT_FATAL, 0);
        pc_race_killed(me);
    }
    __real_vgPlain_nuke_all_threads_except(me, reason);
}

void pc_faults_init(void) {
    VG_(track_pre_deliver_signal)(on_signal);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: Valgrind asks for a block at an address, with PC_INSTRUMENTED, PC_FOLLOWING or neither. After: it
 * has the translation that belongs there. What is changed in Valgrind's core is changed at link time (ld
 * --wrap=SYMBOL).
 *
 * A thread is at an address with one of them only from the end of one block to the start of the next:
 * instructions are where they always were.
 */
#include "versions.h"

#include "emit.h"
#include "race/race.h"
#include "taint/registers.h"
#include "threads.h"

#define PROGRAM_END (1ull << 47) /* of its memory */
#define LOOK_EVERY  8u           /* blocks that follow labels, after which the registers are looked at */

Bool __real_vgPlain_translate(ThreadId tid, Addr address, Bool debugging, Int verbosity, ULong blocks_done,
                              Bool redirect);
Bool __wrap_vgPlain_translate(ThreadId tid, Addr address, Bool debugging, Int verbosity, ULong blocks_done,
                              Bool redirect);
void __real_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code, UInt length,
                                    Bool checks_itself, Int profiling, UInt instructions);
void __wrap_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code, UInt length,
                                    Bool checks_itself, Int profiling, UInt instructions);

static Int wanted = 1;
static Bool mapped;   /* a file, now or before */
static ULong version; /* of the block that is now translated: PC_INSTRUMENTED, PC_FOLLOWING or 0 */

Bool pc_versions_option(const HChar *argument) {
    return VG_BINT_CLO(argument, "--versions", wanted, 0, 1);
}

Bool pc_versions_idle(void) {
    return wanted != 0 && !mapped;
}

void pc_versions_mapped(void) {
    if (!mapped && wanted != 0)
        VG_(discard_translations)(0, PROGRAM_END, "powercut: the first mapping");
    mapped = True;
}

Bool pc_versions_fast_path(void) {
    return (pc_race || pc_taint_wanted) && wanted != 0 && version == 0;
}

Bool pc_versions_untainted(void) {
    return pc_taint_wanted && wanted != 0 && version != PC_FOLLOWING;
}

Bool pc_versions_first(void) {
    return version == 0;
}

Bool __wrap_vgPlain_translate(ThreadId tid, Addr address, Bool debugging, Int verbosity, ULong blocks_done,
                              Bool redirect) {
    version = address & (PC_INSTRUMENTED | PC_FOLLOWING);
    Bool done = __real_vgPlain_translate(tid, pc_versions_address(address), debugging, verbosity, blocks_done,
                                         redirect);
    version = 0;
    return done;
}

void __wrap_vgPlain_add_to_transtab(const VexGuestExtents *extents, Addr entry, Addr code, UInt length,
                                    Bool checks_itself, Int profiling, UInt instructions) {
    __real_vgPlain_add_to_transtab(extents, entry | version, code, length, checks_itself, profiling,
                                   instructions);
}

Addr pc_versions_address(Addr code) {
    return code & ~(PC_INSTRUMENTED | PC_FOLLOWING);
}

void pc_versions_before_signal(ThreadId tid) {
    VG_(set_IP)(tid, pc_versions_address(VG_(get_IP)(tid)));
}

static ULong *shadow_of(Int offset) {
    return (ULong *)((Addr)pc_guest + sizeof(*pc_guest) + (Addr)offset);
}

void pc_follow(void) {
    *shadow_of(PC_FOLLOWS) = 1;
}

/* Looks now and then: mostly, what has a label keeps it for a while. */
static void on_following_block(void) {
    static UInt blocks;
    if (++blocks % LOOK_EVERY == 0 && pc_registers_are_clear(shadow_of(0)))
        *shadow_of(PC_FOLLOWS) = 0;
}

void pc_versions_leave(struct pc_taint_pass *pass, Addr pc) {
    IRExpr *follows = keep(pass->out, IRExpr_Get(pass->shadow + PC_FOLLOWS, Ity_I64));
    addStmtToIRSB(pass->out,
                  IRStmt_Exit(unary(pass->out, Iop_CmpNEZ64, follows), Ijk_Boring,
                              IRConst_U64(pc | PC_FOLLOWING), (Int)offsetof(VexGuestAMD64State, guest_RIP)));
}

void pc_versions_start(struct pc_taint_pass *pass, Addr pc, Bool untainted) {
    if (pass != NULL && untainted)
        pc_versions_leave(pass, pc);
    else if (pass != NULL && wanted != 0)
        call(pass->out, "on_following_block", on_following_block, mkIRExprVec_0(), NULL);
}

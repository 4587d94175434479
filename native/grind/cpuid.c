/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: Valgrind's cpuid, whose processor has neither clwb nor clflushopt. After: the bits are set, so that
 * libraries flush as they do on machines with persistent memory; with clflush alone, fences would not matter.
 */
#include "cpuid.h"

#include "emit.h"

#define LEAF       7u
#define CLFLUSHOPT (1u << 23) /* in ebx */
#define CLWB       (1u << 24)

static UInt leaf, subleaf;

/* Ends the name that all of Valgrind's helpers for cpuid start with. */
Bool pc_is_cpuid(const IRDirty *dirty) {
    return VG_(strstr)(dirty->cee->name, "dirtyhelper_CPUID") != NULL;
}

static void before(const VexGuestAMD64State *guest) {
    leaf = (UInt)guest->guest_RAX;
    subleaf = (UInt)guest->guest_RCX;
}

static void after(VexGuestAMD64State *guest) {
    if (leaf == LEAF && subleaf == 0)
        guest->guest_RBX |= CLFLUSHOPT | CLWB;
}

void pc_instrument_cpuid(IRSB *block, IRStmt *statement) {
    call_with_state(block, "before_cpuid", before, 0, Ifx_Read);
    addStmtToIRSB(block, statement);
    call_with_state(block, "after_cpuid", after, 0, Ifx_Modify);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How Valgrind makes blocks of code, changed at link time (ld --wrap=SYMBOL), as in core.c. */
#include "order.h"
#include "taint/taint.h"
#include "versions.h"

#include "libvex.h"

VexTranslateResult __real_LibVEX_Translate(VexTranslateArgs *args);
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args);

static Bool (*may_go_on)(void *closure, Addr address);
static UInt (*needs_check)(void *closure, VexRegisterUpdates *updates, const VexGuestExtents *extents);

/* A function that is watched starts a block of its own: there, all registers are what the caller gave. */
static Bool may_go_on_here(void *closure, Addr address) {
    return may_go_on(closure, address) && !pc_order_is_entry(address);
}

/* Called before a block is optimised. All registers are up to date at accesses to memory, so that a block can
 * be left there (versions.h). And a load into a register is there in each version, even if the value is
 * not used: otherwise its occurrences would depend on the version. */
static UInt needs_check_here(void *closure, VexRegisterUpdates *updates, const VexGuestExtents *extents) {
    UInt needed = needs_check(closure, updates, extents);
    if ((pc_race || pc_taint_wanted) && !pc_versions_idle())
        *updates = VexRegUpdAllregsAtMemAccess;
    return needed;
}

VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args) {
    may_go_on = args->chase_into_ok;
    args->chase_into_ok = may_go_on_here;
    needs_check = args->needs_self_check;
    args->needs_self_check = needs_check_here;
    return __real_LibVEX_Translate(args);
}

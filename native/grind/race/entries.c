/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blocks of code begin, changed at link time (ld --wrap=SYMBOL), as in core.c. */
#include "order.h"

#include "taint/versions.h"

#include "libvex.h"

VexTranslateResult __real_LibVEX_Translate(VexTranslateArgs *args);
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args);

static Bool (*may_go_on)(void *closure, Addr address);

static UInt (*needs_check)(void *closure, VexRegisterUpdates *updates, const VexGuestExtents *extents);

/* Called before the block is optimised. */
static UInt needs_check_here(void *closure, VexRegisterUpdates *updates, const VexGuestExtents *extents) {
    UInt needed = needs_check(closure, updates, extents);
    if (pc_versions_bare() || pc_versions_plain())
        *updates = VexRegUpdAllregsAtMemAccess;
    return needed;
}

static Bool may_go_on_here(void *closure, Addr address) {
    return may_go_on(closure, address) && !pc_order_is_entry(address);
}

/* A function that is watched starts a block of its own: there, all registers are what the caller gave. */
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args) {
    may_go_on = args->chase_into_ok;
    args->chase_into_ok = may_go_on_here;
    needs_check = args->needs_self_check;
    args->needs_self_check = needs_check_here;
    return __real_LibVEX_Translate(args);
}

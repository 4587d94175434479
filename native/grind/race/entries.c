/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where blocks of code begin, changed at link time (ld --wrap=SYMBOL), as in core.c. */
#include "order.h"

#include "libvex.h"

VexTranslateResult __real_LibVEX_Translate(VexTranslateArgs *args);
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args);

static Bool (*may_go_on)(void *closure, Addr address);

static Bool may_go_on_here(void *closure, Addr address) {
    return may_go_on(closure, address) && !pc_order_is_entry(address);
}

/* A function that is watched starts a block of its own: there, all registers are what the caller gave. */
VexTranslateResult __wrap_LibVEX_Translate(VexTranslateArgs *args) {
    may_go_on = args->chase_into_ok;
    args->chase_into_ok = may_go_on_here;
    return __real_LibVEX_Translate(args);
}

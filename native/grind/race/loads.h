/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads from mapped memory. */
#ifndef POWERCUT_GRIND_RACE_LOADS_H
#define POWERCUT_GRIND_RACE_LOADS_H

#include "board_access.h"
#include "crew.h"
#include "sites.h"

/* From generated code: the running thread has loaded, or is about to swap. */
void pc_load_seen(struct pc_access_site *site, Addr address, ULong size);
void pc_swap_seen(struct pc_access_site *site, Addr address, ULong size);
/* From generated code that does not follow labels: one of these has happened, or (True) the load would be a
 * candidate with a label, and nothing has. `who`: the site, with PC_SWAPS added or not. */
#define PC_SWAPS 1ull
Bool pc_load_is_labelled(UWord who, Addr address, UInt size);
/* The kernel reads for it. */
void pc_kernel_load_seen(Addr address, SizeT size);

/* Mappings have changed. */
void pc_loads_mapped(void);

/* The running thread accesses mapped memory. */
static inline void pc_count_switch(void) {
    extern UInt pc_last_user;
    UInt thread = pc_self()->index;
    pc_board->switches += pc_last_user != thread && pc_last_user != 0;
    pc_last_user = thread;
}

#endif

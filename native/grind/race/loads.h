/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads from mapped memory. */
#ifndef POWERCUT_GRIND_RACE_LOADS_H
#define POWERCUT_GRIND_RACE_LOADS_H

#include "board_access.h"
#include "records.h"
#include "sites.h"
#include "thread_states.h"

/* From generated code: the running thread has loaded, or is about to swap. */
void pc_load_seen(pc_told told, Addr address);
/* From generated code that does not follow labels: that has happened, or (True) the load would be a candidate
 * with a label, and nothing has. */
Bool pc_load_is_labelled(pc_told told, Addr address);
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two translations of each block of code.
 *
 * The plain one runs while no register of the thread has a label: it moves no labels at all. It looks at each
 * load whether that brings one, and then leaves, before the load, for the other translation, which follows
 * labels. That one is left when no register has a label any more.
 *
 * The other one is a block for Valgrind like any other, at the block's address with PC_FOLLOWING added.
 */
#ifndef POWERCUT_GRIND_TAINT_VERSIONS_H
#define POWERCUT_GRIND_TAINT_VERSIONS_H

#include "shades.h"

#define PC_FOLLOWING (1ull << 62)

/* Takes --plain=0|1; False: another option. */
Bool pc_versions_option(const HChar *argument);
/* Whether the block that is now translated may become a plain one: VEX must keep all registers up to date at
 * accesses to memory. */
Bool pc_versions_plain(void);
/* Whether it is the one that the program comes to, not the other version of one. */
Bool pc_versions_first(void);

/* Where the thread is. */
Addr pc_versions_address(Addr code);
/* The signal finds the thread there, too. */
void pc_versions_before_signal(ThreadId tid);

/* Where generated code finds whether the thread follows labels: in the shadow of a register that is not
 * followed itself. */
#define PC_FOLLOWS ((Int)offsetof(VexGuestAMD64State, guest_RSP))
/* In a helper: the running thread is about to have a label in a register. */
void pc_follow(void);

/* At the start of a block, which follows labels or not. */
void pc_versions_start(struct pc_taint_pass *pass, Addr pc, Bool plain);
/* Leaves for the other version at the instruction, if the thread follows. */
void pc_versions_leave(struct pc_taint_pass *pass, Addr pc);

#endif

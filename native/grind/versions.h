/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Up to three translations of each block of code, of which the first that will do runs.
 *
 * Until a file of the data folder is mapped, there is one that is idle: nothing can be of interest, and code
 * runs as it is. Then all translations are forgotten, and made anew where they are needed.
 *
 * The fast path (fast_path.h) runs as long as nothing is touched that is of interest to anyone. Before an
 * access that may be, it is left for the instrumented one, which does what instrument.c says.
 *
 * With taint, that one is an untainted one (untainted.h) while no register of the thread has a label: it
 * moves no labels at all, but looks at each load whether that brings one. If so, it is left, before the load,
 * for the one that follows labels, until no register has one any more.
 *
 * The others are blocks for Valgrind like any, at the block's address with one of these added.
 */
#ifndef POWERCUT_GRIND_VERSIONS_H
#define POWERCUT_GRIND_VERSIONS_H

#include "taint/shades.h"

#define PC_INSTRUMENTED (1ull << 61)
#define PC_FOLLOWING    (1ull << 62)

/* Takes --versions=0|1, 0: there is only the last one; False: another option. */
Bool pc_versions_option(const HChar *argument);
/* A file is mapped. Called where no code of the program runs. */
void pc_versions_mapped(void);
/* What the block that is now translated may become. */
Bool pc_versions_idle(void);
Bool pc_versions_fast_path(void);
Bool pc_versions_untainted(void);
/* Whether it is the one that the program comes to, not another version of one. */
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
void pc_versions_start(struct pc_taint_pass *pass, Addr pc, Bool untainted);
/* Leaves for the other version at the instruction, if the thread follows. */
void pc_versions_leave(struct pc_taint_pass *pass, Addr pc);

#endif

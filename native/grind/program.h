/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program is run, and by what name it is called: what Valgrind loses when a program executes another.
 */
#ifndef POWERCUT_GRIND_PROGRAM_H
#define POWERCUT_GRIND_PROGRAM_H

#include "core.h"

/* Takes the options below; False: another one. */
Bool pc_program_option(const HChar *argument);

/* In the process that executes `program`: puts what the next image must know into Valgrind's options. */
void pc_program_hand_over(const HChar *program, const HChar *name);

/* In that image, first thing: gives Valgrind the program's real path. `envp` is as the kernel gave it. */
void pc_program_find(HChar **envp);

/* Sets one of Valgrind's options ("--option=") for the programs that the program executes. */
void pc_option_set(const HChar *option, const HChar *value);

/* Before the program starts: it gets the name it was called by. */
void pc_program_rename(void);

#endif

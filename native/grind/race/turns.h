/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets others run, without waiting for anything. */
#ifndef POWERCUT_GRIND_RACE_TURNS_H
#define POWERCUT_GRIND_RACE_TURNS_H

#include "records.h"

/* The running thread is about to flush; `wanted`: somebody waits for what the others do. */
void pc_turns_at_flush(Bool wanted);
/* From generated code: before any access, in the mode of random delays. */
void pc_turns_delay(pc_site site, Addr address);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lets threads wait where that may show a race: Figure 6 of the paper on PMRace. */
#ifndef POWERCUT_GRIND_RACE_SCHEDULE_H
#define POWERCUT_GRIND_RACE_SCHEDULE_H

#include "records.h"
#include "sites.h"

/* The plan has been read. */
void pc_schedule_start(void);

/* Which sync points an instruction belongs to, as a reader or as a writer: bit i is point i. */
ULong pc_schedule_points(const struct pc_board_site *name, Bool stores);

/* From generated code, with these points: before a load, after a store and all that records it. */
void pc_schedule_before_load(pc_site site, Addr address, ULong points);
void pc_schedule_after_store(pc_site site, Addr address, ULong points);
/* The running thread is about to flush a line. */
void pc_schedule_before_flush(Addr line);

#endif

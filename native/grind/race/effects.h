/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What depends on candidates: the race mode's side of taint (taint/taint.h). */
#ifndef POWERCUT_GRIND_RACE_EFFECTS_H
#define POWERCUT_GRIND_RACE_EFFECTS_H

#include "sites.h"
#include "taint/taint.h"

void pc_effects_start(void);

/* The running thread loads at this site, from this address on. */
void pc_effects_begin(const struct pc_access_site *site, Addr address);
/* Bytes of that load have these labels. */
void pc_effects_label(Addr address, UInt size, pc_labels labels);

#endif

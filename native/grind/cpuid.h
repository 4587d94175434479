/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes the processor that the program sees one with clwb and clflushopt. */
#ifndef POWERCUT_GRIND_CPUID_H
#define POWERCUT_GRIND_CPUID_H

#include "core.h"

Bool pc_is_cpuid(const IRDirty *dirty);
/* Adds the statement, and what corrects its result. */
void pc_instrument_cpuid(IRSB *block, IRStmt *statement);

#endif

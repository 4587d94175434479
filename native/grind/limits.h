/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program's resource limits, as they would be without Valgrind. */
#ifndef POWERCUT_GRIND_LIMITS_H
#define POWERCUT_GRIND_LIMITS_H

#include "core.h"

/* Once, before the program starts. */
void pc_limits_init(void);
/* Around each system call of the program. */
void pc_limits_before_call(UInt number, const UWord *args);
void pc_limits_after_call(UInt number, const UWord *args, SysRes result);

#endif

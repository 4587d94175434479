/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program's system calls mean for the tracer and for the mapped ranges. */
#ifndef POWERCUT_GRIND_CALLS_H
#define POWERCUT_GRIND_CALLS_H

void pc_calls_init(void);

#endif

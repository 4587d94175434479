/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of open files that the program sets: as in life, not as Valgrind allows. */
#ifndef POWERCUT_GRIND_FILE_LIMITS_H
#define POWERCUT_GRIND_FILE_LIMITS_H

#include "core.h"

/* The running thread is about to make a call, and has made it. */
void pc_file_limits_before_call(UInt number, const UWord *args);
void pc_file_limits_after_call(UInt number, const UWord *args);

#endif

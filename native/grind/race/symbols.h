/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a module, by name. */
#ifndef POWERCUT_GRIND_RACE_SYMBOLS_H
#define POWERCUT_GRIND_RACE_SYMBOLS_H

#include "core.h"

/* Calls `found` for each function that the file defines: those it exports, and in a static program all. The
 * offset is as in the file (p_vaddr space). What is no such file has none. */
void pc_symbols_each(const HChar *path, void (*found)(const HChar *name, Addr offset, void *data),
                     void *data);

#endif

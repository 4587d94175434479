/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes of mapped data files the program has read before it had written them itself. */
#ifndef POWERCUT_LOADS_LOADED_H
#define POWERCUT_LOADS_LOADED_H

#include "core.h"

/* Takes --secret=N; False: another option. */
Bool pc_loaded_option(const HChar *argument);
void pc_loaded_init(void);

/* From generated code, or from system calls: bytes that are read; bytes that the program stores. */
void pc_on_load(Addr address, SizeT size);
void pc_on_store(Addr address, SizeT size);

/* All of a mapping counts as read. */
void pc_on_load_of_all(Addr address, SizeT size);

/* Tells the watcher what was read so far. */
void pc_loaded_tell(Bool last);

#endif

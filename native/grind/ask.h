/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking the system-call tracer (channel.h), and the memory shared with it. */
#ifndef POWERCUT_GRIND_ASK_H
#define POWERCUT_GRIND_ASK_H

#include "channel.h"
#include "core.h"
#include "trace_format.h"

/* Shared with the tracer: this process's page, and its room for records. Valid after pc_hello. */
extern struct pc_channel_page *pc_page;
extern struct pc_memory *pc_records;

/* Takes --channel=N; False: another option. */
Bool pc_ask_option(const HChar *argument);

/* Introduces a new process image, or a forked child. Ends the process if there is no tracer. */
void pc_hello(void);

/* The records in the room are taken; it is empty again. */
void pc_ask_room(void);

/* The id of the stack of thread `tid`, whose registers stand in the page. */
UInt pc_ask_stack(ThreadId tid);

/* The inode behind a descriptor, if it is a file of the data folder; else 0. */
ULong pc_ask_file(Int descriptor);

/* Tells the user something. */
void pc_note(const HChar *format, ...);

#endif

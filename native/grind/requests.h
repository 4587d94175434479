/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the system-call tracer (channel.h), and the memory shared with it. */
#ifndef POWERCUT_GRIND_REQUESTS_H
#define POWERCUT_GRIND_REQUESTS_H

#include "channel.h"
#include "core.h"
#include "trace_format.h"

/* Shared with the tracer: this process's page, and its buffer of records. Valid after pc_hello. */
extern struct pc_channel_page *pc_page;
extern struct pc_memory *pc_records;

/* Takes --channel=N; False: another option. */
Bool pc_request_option(const HChar *argument);

/* Introduces a new process image, or a forked child. Ends the process if there is no tracer. */
void pc_hello(void);

/* The records in the buffer are taken; it is empty again. */
void pc_request_empty(void);

/* The id of the stack of thread `tid`, whose registers stand in the page. */
UInt pc_request_stack(ThreadId tid);

/* The inode behind a descriptor, if it is a file of the data folder; else 0. */
ULong pc_request_file(Int descriptor);

/* Tells the user something. */
void pc_note(const HChar *format, ...);

#endif

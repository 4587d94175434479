/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Race mode: what the rest of the tool tells it. Nothing of this does anything unless pc_race is set. */
#ifndef POWERCUT_GRIND_RACE_H
#define POWERCUT_GRIND_RACE_H

#include "board_access.h"
#include "ranges.h"
#include "records.h"

/* The options are known; no code has been translated yet. */
void pc_race_start(void);

/* The running thread has stored [from, to), which lies in the range; a kind with PC_MEMORY_REST goes on with
 * the store before. */
void pc_race_stored(UInt kind, Addr pc, const struct pc_range *range, Addr from, Addr to);
/* It is about to flush a line, and has flushed it. */
void pc_race_flushes(Addr line);
void pc_race_flushed(const struct pc_range *range, Addr line, UInt how);
void pc_race_fenced(void);

/* The program says that these bytes are a lock, and what they hold when it is free. */
void pc_race_sync_var(Addr pc, Addr address, SizeT size, ULong initial);

/* Threads, calls and mappings. */
void pc_race_before_call(ThreadId tid, UInt number, const UWord *args);
void pc_race_after_call(ThreadId tid, UInt number, const UWord *args, SysRes result);
void pc_race_kernel_reads(ThreadId tid, Addr address, SizeT size);
void pc_race_mapped(ULong inode);
/* A thread is about to run code; all have executed so many blocks. */
void pc_race_turn(ThreadId tid, ULong blocks);
/* It has run code, and may give Valgrind's lock away. */
void pc_race_turn_ends(void);
void pc_race_thread_created(ThreadId tid);
void pc_race_thread_started(ThreadId tid, Int id);
void pc_race_thread_ended(ThreadId tid);
void pc_race_forked(ThreadId tid);
/* A signal that comes to the thread kills the process; the others have not ended yet. */
void pc_race_killed(ThreadId tid);
/* The process ends, by itself or by a signal. */
void pc_race_at_end(void);

/* What is emitted at the start of a block, and at the end of one that returns. */
void pc_race_emit_start(IRSB *out, Addr pc);
void pc_race_emit_return(IRSB *out, Addr pc);
/* What is emitted for a statement: where threads wait, before and after it and all that records it; and what
 * it uses and loads. */
void pc_race_emit_before(const IRSB *in, Int index, IRSB *out, Addr pc);
void pc_race_emit_after(const IRSB *in, Int index, IRSB *out, Addr pc);
void pc_race_emit_uses(const IRSB *in, Int index, IRSB *out, Addr pc);
void pc_race_emit_loaded(const IRSB *in, Int index, IRSB *out, Addr pc, Bool locked);

/* What race mode is told at the load of a statement; 0: nothing. */
pc_told pc_race_tells(const IRSB *in, Int index, Addr pc, Bool locked);
/* Whether threads may wait before the load of a statement, and so whatever was asked before. */
Bool pc_race_waits(const IRSB *in, Int index, Addr pc);
/* Whether something is emitted at the start of a block there. */
Bool pc_race_starts(Addr pc);
/* A block of the program is translated. */
void pc_race_block(Addr pc);

#endif

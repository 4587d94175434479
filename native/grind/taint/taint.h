/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dynamic taint: which labelled loads a value depends on.
 *
 * A label is a number that a mode of the tool chooses: of a candidate (race), of a record in a log (heal). A
 * value carries a set of labels. Sets flow through temporaries, registers and memory with data; a load
 * through a labelled address adds the address's labels to what it loads, and what a condition selects
 * (cmov) has those of the condition. Jumps add nothing.
 *
 * Before: a mode set pc_taint_wanted and its hooks before the program's first code is translated. After: the
 * hooks are called as the program runs. While nobody wants it, nothing is emitted and nothing kept.
 */
#ifndef POWERCUT_GRIND_TAINT_H
#define POWERCUT_GRIND_TAINT_H

#include "core.h"
#include "records.h"

/* A set of labels, interned: equal sets are equal numbers. 0: the empty one. */
typedef UInt pc_labels;

/* The set with one label, any number. */
pc_labels pc_labels_one(ULong number);
pc_labels pc_labels_union(pc_labels a, pc_labels b);
Bool pc_labels_has(pc_labels set, ULong number);
/* Visits each label of a set, smallest first. */
void pc_labels_each(pc_labels set, void (*visit)(ULong number, void *data), void *data);
/* Whether all labels of a set are over (below); False, too, if they are too many to be looked at. */
Bool pc_labels_are_over(pc_labels set);

/* What a mode sets. Hooks that stay NULL are not called. */
extern Bool pc_taint_wanted;
/* At each load from a mapped range, after the load: labels to add. The running thread is the one that loads.
 * The site's kind is PC_MEMORY_LOAD. Compare and swap asks before it stores; an instruction that loads first
 * and then swaps (lock xadd) asks once. */
extern pc_labels (*pc_taint_source)(pc_site site, Addr address, UInt size);
/* After a store with labels to a mapped range, and after its STORE records: those of the data, those of the
 * address. */
extern void (*pc_taint_sink)(pc_site site, Addr address, UInt size, pc_labels value, pc_labels where);
/* Before a system call that gives labelled bytes to a file or a socket. */
extern void (*pc_taint_sink_call)(pc_labels labels);

/* Whether a label can be forgotten: what depends on it is of no interest any more, for good. NULL: none can.
 */
extern Bool (*pc_taint_is_over)(ULong number);
/* At a load from a mapped range by code that does not follow labels (versions.h). True: it would bring
 * labels, and will be asked for as above; nothing has happened yet. NULL: pc_taint_source is asked there,
 * too.
 */
extern Bool (*pc_taint_loads)(pc_told told, Addr address);

/* Emission, from instrument.c. */
struct pc_taint_pass;
/* The pass for a block; NULL: not wanted. Valid until the next block begins. */
struct pc_taint_pass *pc_taint_begin(const IRSB *in, IRSB *out, const VexGuestLayout *layout);
/* What a statement of the instruction at `pc` does to labels: before the statement, and after it and all
 * that records it. A pass of NULL emits nothing. */
void pc_taint_before(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc);
void pc_taint_after(struct pc_taint_pass *pass, const IRStmt *statement, Addr pc);
/* At the end of the block. */
void pc_taint_end(struct pc_taint_pass *pass);

/* What happens outside of translated code. */
void pc_taint_before_call(ThreadId tid, UInt number, const UWord *args);
void pc_taint_after_call(ThreadId tid, UInt number, const UWord *args, SysRes result);
void pc_taint_kernel_wrote(Addr address, SizeT length);
/* The mapped ranges are these now. */
void pc_taint_ranges_changed(const struct pc_range *ranges, UInt count);
void pc_taint_thread_started(ThreadId tid);
/* In a forked child. */
void pc_taint_forked(void);

#endif

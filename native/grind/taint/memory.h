/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of every byte of memory. */
#ifndef POWERCUT_GRIND_TAINT_MEMORY_H
#define POWERCUT_GRIND_TAINT_MEMORY_H

#include "taint.h"

/* Generated code passes by an access of at most PC_LABELLED_REACH bytes at a when the number
 * pc_labelled_filter[a >> PC_LABELLED_SHIFT & PC_LABELLED_MASK] is 0: none of them has a label, and none lies
 * in a mapped range. The same holds for accesses up to PC_LABELLED_NEAR bytes away. */
#define PC_LABELLED_NEAR  256
#define PC_LABELLED_SHIFT 10
#define PC_LABELLED_MASK  0x3fffff
extern UShort pc_labelled_filter[PC_LABELLED_MASK + 1];
#define PC_LABELLED_REACH 32u

/* Which bytes of mapped files have labels from the start; NULL: none. Asked once for each page of a file, and
 * answers by calls of `paint` with parts of it. */
typedef void (*pc_paint)(void *page, UInt offset, UInt length, pc_labels labels);
extern void (*pc_labelled_painter)(ULong inode, ULong offset, pc_paint paint, void *page);

pc_labels pc_labelled_read(Addr address, SizeT length);
/* The same without labels that are all over (taint.h): those are cleared. */
pc_labels pc_labelled_now(Addr address, SizeT length);
void pc_labelled_write(Addr address, SizeT length, pc_labels labels);

/* Ordinary memory here is new, or gone: it has no labels. Those of mapped files stay with the file. */
void pc_labelled_forget(Addr address, SizeT length);
/* What lay at `from` lies at `to`, as far as it is ordinary memory. */
void pc_labelled_move(Addr from, Addr to, SizeT length);

#endif

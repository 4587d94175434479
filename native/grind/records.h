/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes memory events of the running thread into the trace (struct pc_memory). */
#ifndef POWERCUT_GRIND_RECORDS_H
#define POWERCUT_GRIND_RECORDS_H

#include "core.h"
#include "ranges.h"
#include "trace_format.h"

/* One instruction that is of interest, in one word: what generated code hands to a helper. */
typedef ULong pc_site;
#define PC_SITE(pc, size, kind, parted)                                                                      \
    ((ULong)(pc) | (ULong)(size) << 48 | (ULong)(kind) << 58 | (ULong)(parted) << 62)
#define PC_SITE_PC(site)     ((Addr)((site) & 0xffffffffffffull))
#define PC_SITE_SIZE(site)   ((UInt)((site) >> 48 & 1023))
#define PC_SITE_KIND(site)   ((UInt)((site) >> 58 & 15)) /* enum pc_memory_kind */
#define PC_SITE_PARTED(site) ((site) >> 62 & 1)          /* one of several stores by one instruction */

/* A load that a mode is told of: its site there (below 1 << 48; NULL: nobody is told), its size, and whether
 * a store of the same instruction follows. */
typedef ULong pc_told;
#define PC_TOLD(site, size, swaps) ((ULong)(Addr)(site) | (ULong)(size) << 48 | (ULong)(swaps))
#define PC_TOLD_SITE(told)         ((void *)((told) & 0xfffffffffffeull))
#define PC_TOLD_SIZE(told)         ((UInt)((told) >> 48))
#define PC_TOLD_SWAPS(told)        (((told) & 1) != 0)

/* Generated code sets this to 0 before an instruction with several stores. */
extern UInt pc_parts;

/* From generated code: the bytes have just been stored. */
void pc_on_store(pc_site site, Addr address);
/* The same if only some bytes were: those whose byte in the masks has its highest bit set. */
void pc_on_masked_store(pc_site site, Addr address, ULong low, ULong high);
/* Size: enum pc_flush. */
void pc_on_flush(pc_site site, Addr address);
/* Size: enum pc_fence. */
void pc_on_fence(pc_site site);

/* From system calls: bytes that the kernel has stored; a part of a mapping that is gone. */
void pc_on_kernel_store(Addr address, SizeT length);
void pc_on_unmap(const struct pc_range *part);

/* One record about a file (-1: none), as it is. */
void pc_put_one(Int file, struct pc_memory record);

/* From the program itself: an operation of powercut.h, on a range or (size 0) on none. Memory of no
 * traced file is file 0, whose inode is 0. */
void pc_on_assertion(Addr pc, UInt operation, Addr address, SizeT size);

/* What the last store, or the process's next call, depends on: a number and PC_EFFECT_*. */
void pc_on_effect(ULong number, UInt effects);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which addresses are shared mappings of files in the data folder. */
#ifndef POWERCUT_GRIND_RANGES_H
#define POWERCUT_GRIND_RANGES_H

#include "core.h"

struct pc_range {
    Addr start, end;
    ULong offset; /* of start in the file */
    UShort file;  /* number for records: index of pc_files */
    Bool writable;
};

struct pc_file {
    ULong inode;
    Bool announced; /* the records of this process say which inode the number stands for */
};

extern struct pc_file pc_files[];
extern UInt pc_file_count;

/* The number that stands for an inode in records; -1: there are too many. Inode 0 is memory of no file. */
Int pc_file_number(ULong inode);

/* How many ranges there are. Generated code looks at it. */
extern UInt pc_range_count;

/* Told all ranges after each change; NULL: nobody wants to know. */
extern void (*pc_ranges_changed)(const struct pc_range *ranges, UInt count);

/* Generated code passes by an address a when the byte pc_filter[a >> PC_FILTER_SHIFT & PC_FILTER_MASK] is 0.
 * A byte that is not 0 means that a range may be there or start a little above. The same byte can be asked
 * for addresses up to PC_NEAR bytes away. */
#define PC_NEAR         (64 << 10)
#define PC_FILTER_SHIFT 21
#define PC_FILTER_MASK  0xffff
extern UChar pc_filter[PC_FILTER_MASK + 1];

/* The range that holds `address`, or the next one above; NULL: none. */
const struct pc_range *pc_range_from(Addr address);

void pc_ranges_map(Addr start, SizeT length, ULong inode, ULong offset, Bool writable);
/* Calls `gone` (may be NULL) for each part that was mapped. */
void pc_ranges_unmap(Addr start, SizeT length, void (*gone)(const struct pc_range *part));
/* Calls `found` for each part that is mapped. */
void pc_ranges_each(Addr start, SizeT length, void (*found)(const struct pc_range *part));
/* The mapping at `from` is now at `to` and has a new length. What lay at `to` before must be unmapped. */
void pc_ranges_move(Addr from, SizeT length, Addr to, SizeT new_length,
                    void (*gone)(const struct pc_range *part));
void pc_ranges_protect(Addr start, SizeT length, Bool writable);

#endif

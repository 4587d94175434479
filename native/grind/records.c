/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: something has happened in the running thread. After: if it touched a range, its records are
 * committed (record_buffer.h), in the order in which things took effect.
 */
#include "records.h"

#include "race/race.h"
#include "record_buffer.h"
#include "stacks.h"
#include "taint/touches.h"

#define WORD 8u
#define LINE 64u

UInt pc_parts;

static ULong load(Addr address, UInt size) {
    ULong value = 0;
    switch (size) {
    case 8:
        return *(const ULong *)address;
    case 4:
        return *(const UInt *)address;
    case 2:
        return *(const UShort *)address;
    case 1:
        return *(const UChar *)address;
    default:
        VG_(memcpy)(&value, (const void *)address, size);
        return value;
    }
}

/* Records [address, stop), which lies in the range, word by word. The first record has kind `kind`, all
 * others are its rest. */
static void put_part(const struct pc_range *range, UInt kind, Addr address, Addr stop, UInt stack) {
    while (address < stop) {
        UInt words = (UInt)((stop - (address & ~(Addr)(WORD - 1)) + WORD - 1) / WORD);
        UInt count = words < PC_MOST_AT_ONCE ? words : PC_MOST_AT_ONCE;
        struct pc_memory *record = pc_begin(range->file, count);
        for (UInt i = 0; i < count; i++, record++) {
            Addr word_end = (address | (WORD - 1)) + 1;
            UInt size = (UInt)((word_end < stop ? word_end : stop) - address);
            record->value = load(address, size);
            record->offset = range->offset + (address - range->start);
            record->stack = stack;
            record->file = range->file;
            record->kind = (UChar)kind;
            record->size = (UChar)size;
            kind |= PC_MEMORY_REST;
            address += size;
        }
        pc_commit(count);
    }
}

/* The same as far as it lies in any range. Returns the kind for what may follow. */
static UInt put_store(UInt kind, Addr pc, Addr address, Addr stop) {
    const struct pc_range *range = pc_range_from(address);
    UInt stack = 0;
    for (Bool first = True; range != NULL && range->start < stop; first = False) {
        if (first)
            stack = pc_stack(pc);
        Addr from = address > range->start ? address : range->start;
        Addr to = stop < range->end ? stop : range->end;
        put_part(range, kind, from, to, stack);
        if (pc_race)
            pc_race_stored(kind, pc, range, from, to);
        pc_touches_stored(pc, from, to - from);
        kind |= PC_MEMORY_REST;
        address = to;
        range = address < stop ? pc_range_from(address) : NULL;
    }
    return kind;
}

/* The kind of a store's first record, and after it, what was written. */
static UInt first_kind(pc_site site) {
    return PC_SITE_KIND(site) | (PC_SITE_PARTED(site) && pc_parts != 0 ? PC_MEMORY_REST : 0);
}

static void stored(UInt kind) {
    if ((kind & PC_MEMORY_REST) == 0)
        return; /* nothing was in a range */
    pc_parts = 1;
    pc_pending = 1;
}

void pc_on_store(pc_site site, Addr address) {
    stored(put_store(first_kind(site), PC_SITE_PC(site), address, address + PC_SITE_SIZE(site)));
}

void pc_on_masked_store(pc_site site, Addr address, ULong low, ULong high) {
    ULong masks[2] = {low, high};
    const UChar *mask = (const UChar *)masks;
    UInt kind = first_kind(site);
    for (UInt i = 0; i < PC_SITE_SIZE(site);) {
        UInt start = i;
        while (i < PC_SITE_SIZE(site) && (mask[i] & 128) != 0)
            i++;
        if (i > start)
            kind = put_store(kind, PC_SITE_PC(site), address + start, address + i);
        else
            i++;
    }
    stored(kind);
}

void pc_on_kernel_store(Addr address, SizeT length) {
    UInt kind = put_store(PC_MEMORY_STORE_KERNEL, VG_(get_IP)(pc_running) - 1, address, address + length);
    if ((kind & PC_MEMORY_REST) != 0)
        pc_pending = 1;
}

void pc_put_one(Int file, struct pc_memory record) {
    *pc_begin(file, 1) = record;
    pc_commit(1);
}

void pc_on_flush(pc_site site, Addr address) {
    Addr line = address & ~(Addr)(LINE - 1);
    if (pc_race)
        pc_race_flushes(line); /* others may run, and map and unmap */
    const struct pc_range *range = pc_range_from(line);
    Bool mapped = range != NULL && range->start <= line;
    Int file = mapped ? range->file : pc_file_number(0); /* nothing of that persists: a mistake to be told */
    if (file < 0)
        return;
    pc_put_one(file, (struct pc_memory){.offset = mapped ? range->offset + (line - range->start) : 0,
                                        .stack = pc_stack(PC_SITE_PC(site)),
                                        .file = (UShort)file,
                                        .kind = PC_MEMORY_FLUSH,
                                        .size = (UChar)PC_SITE_SIZE(site)});
    pc_pending = 1;
    if (pc_race && mapped)
        pc_race_flushed(range, line, PC_SITE_SIZE(site));
}

void pc_on_fence(pc_site site) {
    pc_put_one(-1, (struct pc_memory){.stack = pc_stack(PC_SITE_PC(site)),
                                      .kind = PC_MEMORY_FENCE,
                                      .size = (UChar)PC_SITE_SIZE(site)});
    pc_pending = 0;
    if (pc_race)
        pc_race_fenced();
}

void pc_on_effect(ULong number, UInt effects) {
    pc_put_one(-1, (struct pc_memory){.value = number, .kind = PC_MEMORY_EFFECT, .size = (UChar)effects});
}

void pc_on_unmap(const struct pc_range *part) {
    if (!part->writable)
        return;
    pc_put_one(part->file, (struct pc_memory){.value = part->end - part->start,
                                              .offset = part->offset,
                                              .stack = pc_stack(VG_(get_IP)(pc_running) - 1),
                                              .file = part->file,
                                              .kind = PC_MEMORY_UNMAP});
}

void pc_on_assertion(Addr pc, UInt operation, Addr address, SizeT size) {
    const struct pc_range *range = size ? pc_range_from(address) : NULL;
    Bool mapped = range != NULL && range->start <= address;
    Int file = mapped ? range->file : pc_file_number(0);
    if (file < 0)
        return;
    pc_put_one(file, (struct pc_memory){.value = size,
                                        .offset = mapped ? range->offset + (address - range->start) : 0,
                                        .stack = pc_stack(pc),
                                        .file = (UShort)file,
                                        .kind = PC_MEMORY_ASSERTION,
                                        .size = (UChar)operation});
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: told of every mapping that counts, and of every change. After each change: `ranges` is sorted and
 * without overlaps, and pc_filter lets no store into one pass.
 *
 * Read-only mappings are kept as well: they may become writable, and may be flushed.
 */
#include "ranges.h"

#define LARGEST_STORE 1024 /* bytes: no instruction stores more in one go */

struct pc_file pc_files[1 << 16];
UInt pc_file_count;
UInt pc_range_count;
void (*pc_ranges_changed)(const struct pc_range *ranges, UInt count);
UChar pc_filter[PC_FILTER_MASK + 1];

static struct pc_range *ranges;
static UInt room;
static UInt last; /* index of the last answer: most stores go where the one before went */

const struct pc_range *pc_range_from(Addr address) {
    if (last < pc_range_count && ranges[last].start <= address && address < ranges[last].end)
        return &ranges[last];
    UInt low = 0, high = pc_range_count;
    while (low < high) {
        UInt middle = (low + high) / 2;
        if (ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    last = low;
    return low < pc_range_count ? &ranges[low] : NULL;
}

static void rebuild_filters(void) {
    if (pc_ranges_changed != NULL)
        pc_ranges_changed(ranges, pc_range_count);
    VG_(memset)(pc_filter, 0, sizeof(pc_filter));
    for (UInt i = 0; i < pc_range_count; i++) {
        /* A store may start below the range and reach into it. */
        ULong first = (ranges[i].start - LARGEST_STORE - PC_NEAR) >> PC_FILTER_SHIFT;
        ULong end = (ranges[i].end - 1 + PC_NEAR) >> PC_FILTER_SHIFT;
        if (end - first > PC_FILTER_MASK)
            end = first + PC_FILTER_MASK;
        for (ULong at = first; at <= end; at++)
            pc_filter[at & PC_FILTER_MASK] = 1;
    }
}

static void insert(const struct pc_range *range) {
    if (pc_range_count == room) {
        room = room == 0 ? 16 : room * 2;
        ranges = VG_(realloc)("powercut.ranges", ranges, room * sizeof(*ranges));
    }
    UInt at = pc_range_count++;
    for (; at > 0 && ranges[at - 1].start > range->start; at--)
        ranges[at] = ranges[at - 1];
    ranges[at] = *range;
}

static void drop(UInt index) {
    pc_range_count--;
    VG_(memmove)(&ranges[index], &ranges[index + 1], (pc_range_count - index) * sizeof(*ranges));
}

/* The part of a range inside [start, end). */
static struct pc_range cut(const struct pc_range *range, Addr start, Addr end) {
    struct pc_range part = *range;
    if (start > part.start) {
        part.offset += start - part.start;
        part.start = start;
    }
    if (end < part.end)
        part.end = end;
    return part;
}

static Bool overlaps(const struct pc_range *range, Addr start, Addr end) {
    return range->start < end && start < range->end;
}

Int pc_file_number(ULong inode) {
    for (UInt i = 0; i < pc_file_count; i++)
        if (pc_files[i].inode == inode)
            return (Int)i;
    if (pc_file_count == sizeof(pc_files) / sizeof(pc_files[0]))
        return -1;
    pc_files[pc_file_count] = (struct pc_file){.inode = inode};
    return (Int)pc_file_count++;
}

void pc_ranges_map(Addr start, SizeT length, ULong inode, ULong offset, Bool writable) {
    Int file = pc_file_number(inode);
    if (file < 0 || length == 0)
        return;
    struct pc_range range = {start, start + VG_PGROUNDUP(length), offset, (UShort)file, writable};
    insert(&range);
    rebuild_filters();
}

void pc_ranges_each(Addr start, SizeT length, void (*found)(const struct pc_range *part)) {
    Addr end = start + VG_PGROUNDUP(length);
    for (UInt i = 0; i < pc_range_count; i++) {
        if (!overlaps(&ranges[i], start, end))
            continue;
        struct pc_range part = cut(&ranges[i], start, end);
        found(&part);
    }
}

void pc_ranges_unmap(Addr start, SizeT length, void (*gone)(const struct pc_range *part)) {
    Addr end = start + VG_PGROUNDUP(length);
    Bool changed = False;
    for (UInt i = 0; i < pc_range_count;) {
        struct pc_range whole = ranges[i];
        if (!overlaps(&whole, start, end)) {
            i++;
            continue;
        }
        struct pc_range part = cut(&whole, start, end);
        drop(i);
        if (part.end < whole.end) {
            struct pc_range above = cut(&whole, part.end, whole.end);
            insert(&above);
        }
        if (whole.start < part.start) {
            struct pc_range below = cut(&whole, whole.start, part.start);
            insert(&below);
            i++;
        }
        changed = True;
        if (gone != NULL)
            gone(&part);
    }
    if (changed)
        rebuild_filters();
}

void pc_ranges_move(Addr from, SizeT length, Addr to, SizeT new_length,
                    void (*gone)(const struct pc_range *part)) {
    const struct pc_range *found = pc_range_from(from);
    /* A call that moves covers one mapping only; 0 bytes of it stand for a second mapping of the same. */
    Bool known = found != NULL && found->start <= from;
    struct pc_range moved = known ? cut(found, from, found->end) : (struct pc_range){0};
    if (length > new_length)
        pc_ranges_unmap(from + VG_PGROUNDUP(new_length), length - new_length, gone);
    pc_ranges_unmap(from, length < new_length ? length : new_length, NULL);
    if (known)
        pc_ranges_map(to, new_length, pc_files[moved.file].inode, moved.offset, moved.writable);
}

void pc_ranges_protect(Addr start, SizeT length, Bool writable) {
    for (UInt i = 0; i < pc_range_count; i++)
        if (writable && overlaps(&ranges[i], start, start + VG_PGROUNDUP(length)))
            ranges[i].writable = True; /* that it was so once is what counts */
}

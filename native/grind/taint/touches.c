/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: ranges of files, as objects of a pool. After each load from one of them, or store into it, by the
 * program's own code: the range says so. PMDK's libraries touch objects on their own account, as when an
 * undo log is applied: that says nothing about what the program knows.
 *
 * Nothing has labels in this mode: the taint engine is there because it tells of all loads, those of system
 * calls, too.
 */
#include "touches.h"

#include "origins.h"
#include "race/sites.h"
#include "ranges.h"
#include "taint.h"

static struct pc_labels_board *board; /* NULL: another mode, or none */
static UInt recovering;               /* begun and not ended */

static void touch(ULong inode, ULong from, ULong to) {
    UInt when = PC_LABEL_TOUCH_ANYTIME | (recovering > 0 ? PC_LABEL_TOUCH_RECOVERY : 0);
    struct pc_label_range *end, *range = pc_origins_ranges(inode, from, &end);
    for (; range < end && range->inode == inode && range->offset < to; range++)
        if ((range->touched & when) != when)
            __atomic_fetch_or(&range->touched, when, __ATOMIC_RELAXED); /* other processes do, too */
}

static void touch_mapped(Addr pc, Addr address, SizeT size) {
    Bool trusted, system;
    Addr stop = address + size;
    pc_site_name(pc, &trusted, &system);
    if (trusted)
        return;
    const struct pc_range *range = pc_range_from(address);
    for (; range != NULL && range->start < stop; range = pc_range_from(range->end)) {
        Addr from = address > range->start ? address : range->start;
        Addr to = stop < range->end ? stop : range->end;
        touch(pc_files[range->file].inode, range->offset + (from - range->start),
              range->offset + (to - range->start));
    }
}

static pc_labels on_load(pc_site site, Addr address, UInt size) {
    touch_mapped(PC_SITE_PC(site), address, size);
    return 0;
}

void pc_touches_start(struct pc_labels_board *wanted) {
    board = wanted;
    pc_taint_wanted = True;
    pc_taint_source = on_load;
}

void pc_touches_stored(Addr pc, Addr address, SizeT size) {
    if (board != NULL)
        touch_mapped(pc, address, size);
}

void pc_touches_recovery(Bool begins) {
    if (board == NULL || (!begins && recovering == 0))
        return;
    recovering = begins ? recovering + 1 : recovering - 1;
    if (begins)
        __atomic_fetch_add(&board->recoveries, 1, __ATOMIC_RELAXED);
}

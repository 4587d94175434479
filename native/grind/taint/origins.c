/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before pc_origins_open: the tracer has left us a board and named it in the options. After: bytes of files
 * have the labels that the board says until something else is stored there. Pages of labels are made when a
 * page of a file is first touched (memory.h).
 */
#include "origins.h"

#include "faults.h"
#include "memory.h"
#include "ranges.h"
#include "records.h"
#include "requests.h"
#include "sets.h"
#include "threads.h"
#include "touches.h"

#define PAGE 4096u

struct pc_labels_board *pc_origins_board;

static Int inherited = -1;
static struct pc_labels_board *board; /* as mapped */
static Bool refused;
static struct pc_label_range *ranges;

Bool pc_origins_option(const HChar *argument) {
    return VG_INT_CLO(argument, "--labels", inherited);
}

struct pc_label_thread *pc_origins_thread(ThreadId tid) {
    if (pc_origins_board == NULL || tid >= PC_LABEL_THREADS)
        return NULL;
    struct pc_label_thread *own = (struct pc_label_thread *)((Addr)board + board->threads) + tid;
    if (own->tid != pc_thread_id) { /* an earlier one had the number */
        VG_(memset)(own, 0, sizeof(*own));
        own->tid = pc_thread_id;
    }
    return own;
}

/* Makes the board this process's own, if its owner is no more. */
static void claim(void) {
    if (pc_origins_board != NULL || refused)
        return;
    if (board->owner != 0 && VG_(kill)(board->owner, 0) == 0) {
        refused = True;
        board->refused++;
        return;
    }
    board->owner = VG_(getpid)();
    pc_origins_board = board;
    pc_sets_live_in((struct pc_label_node *)((Addr)board + board->nodes), board->node_capacity,
                    &board->node_count, &board->lost);
}

struct pc_label_range *pc_origins_ranges(ULong inode, ULong offset, struct pc_label_range **end) {
    UInt low = 0, high = board->range_count;
    while (low < high) {
        UInt middle = (low + high) / 2;
        const struct pc_label_range *range = &ranges[middle];
        if (range->inode < inode || (range->inode == inode && range->offset + range->length <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    *end = ranges + board->range_count;
    return ranges + low;
}

static void paint_page(ULong inode, ULong offset, pc_paint paint, void *page) {
    struct pc_label_range *last;
    for (const struct pc_label_range *range = pc_origins_ranges(inode, offset, &last); range < last;
         range++) {
        if (range->inode != inode || range->offset >= offset + PAGE)
            return;
        claim();
        if (refused)
            return;
        ULong from = range->offset > offset ? range->offset : offset;
        ULong end = range->offset + range->length;
        ULong to = end < offset + PAGE ? end : offset + PAGE;
        paint(page, (UInt)(from - offset), (UInt)(to - from), pc_labels_one(range->number));
    }
}

/* The records of one store or call. */
struct effects {
    pc_labels value, where;
    UInt kind, left;
};

static void record_effect(ULong number, void *data) {
    struct effects *effects = data;
    UInt kind = effects->kind;
    if (effects->left == 0) {
        pc_origins_board->effects_left_out++;
        return;
    }
    effects->left--;
    if (kind == 0)
        kind = (pc_labels_has(effects->value, number) ? PC_EFFECT_VALUE : 0) |
               (pc_labels_has(effects->where, number) ? PC_EFFECT_ADDRESS : 0);
    pc_on_effect(number, kind);
}

static void on_sink(pc_site site, Addr address, UInt size, pc_labels value, pc_labels where) {
    struct effects effects = {value, where, 0, PC_LABEL_EFFECTS};
    if (pc_origins_board != NULL)
        pc_labels_each(pc_labels_union(value, where), record_effect, &effects);
}

static void on_sink_call(pc_labels labels) {
    struct effects effects = {labels, 0, PC_EFFECT_OUTPUT, PC_LABEL_EFFECTS};
    if (pc_origins_board != NULL)
        pc_labels_each(labels, record_effect, &effects);
}

/* When a range was loaded last: of the many that a walk along a list depends on, those count most that were
 * loaded just before it failed. Loads follow each other, so the range is mostly the one before. */
static void note_load(ULong inode, ULong from, ULong to) {
    static struct pc_label_range *last;
    struct pc_label_range *end = ranges + board->range_count, *range = last;
    if (range == NULL || range->inode != inode || range->offset > from ||
        range->offset + range->length <= from)
        range = pc_origins_ranges(inode, from, &end);
    for (; range < end && range->inode == inode && range->offset < to; range++) {
        range->loaded = ++board->order;
        last = range;
    }
}

static pc_labels on_load(pc_site site, Addr address, UInt size) {
    const struct pc_range *range = pc_origins_board == NULL ? NULL : pc_range_from(address);
    Addr stop = address + size;
    for (; range != NULL && range->start < stop; range = pc_range_from(range->end)) {
        Addr from = address > range->start ? address : range->start;
        Addr to = stop < range->end ? stop : range->end;
        note_load(pc_files[range->file].inode, range->offset + (from - range->start),
                  range->offset + (to - range->start));
    }
    return 0; /* the labels are at the bytes already */
}

static SizeT board_size(Int descriptor) {
    struct vg_stat status;
    return VG_(fstat)(descriptor, &status) == 0 && status.size > 0 ? (SizeT)status.size : 0;
}

void pc_origins_open(void) {
    Int descriptor = inherited < 0 ? -1 : pc_core_keep(inherited, "--labels=");
    if (descriptor < 0)
        return;
    SysRes mapped = VG_(am_shared_mmap_file_float_valgrind)(board_size(descriptor),
                                                            VKI_PROT_READ | VKI_PROT_WRITE, descriptor, 0);
    if (sr_isError(mapped))
        return;
    board = (struct pc_labels_board *)sr_Res(mapped);
    if (board->magic != PC_LABELS_MAGIC || board->version != PC_LABELS_VERSION)
        return;
    ranges = (struct pc_label_range *)((Addr)board + board->ranges);
    if ((board->flags & PC_LABELS_TOUCHES) != 0) {
        pc_touches_start(board);
        return;
    }
    pc_labelled_painter = paint_page;
    pc_taint_wanted = True;
    if ((board->flags & PC_LABELS_FAULTS) != 0) {
        pc_faults_wanted = True;
        pc_taint_source = on_load;
    }
    if ((board->flags & PC_LABELS_EFFECTS) != 0) {
        pc_taint_sink = on_sink;
        pc_taint_sink_call = on_sink_call;
    }
}

void pc_taint_forked(void) {
    if (pc_origins_board == NULL)
        return;
    pc_sets_leave();
    pc_origins_board->refused++;
    pc_origins_board = NULL;
    refused = True;
}

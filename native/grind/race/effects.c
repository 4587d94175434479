/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the taint engine asks which labels a load brings, and tells which stores and calls depend on
 * labels. After: an EFFECT record stands behind each store (or before each call) for each candidate it
 * depends on, unless that is guaranteed by now or is what is stored.
 */
#include "effects.h"

#include "candidates.h"
#include "loads.h"
#include "race.h"
#include "stacks.h"
#include "threads.h"

#define WORDS           8u  /* of a load: 32 bytes, not aligned, are 5 */
#define MOST_AT_ONCE    64u /* candidates of one effect */
#define MOST_EFFECTS    64u /* of one candidate */
#define MOST_CANDIDATES 65536u

/* The last load, until the taint engine asks for it. */
static struct {
    Addr pc;
    UInt count;
    struct {
        Addr start, end;
        pc_labels labels;
    } parts[WORDS];
} last;

static UChar effects_of[MOST_CANDIDATES]; /* recorded so far, by number modulo this */

void pc_effects_begin(const struct pc_access_site *site, Addr address) {
    last.pc = site->pc;
    last.count = 0;
}

void pc_effects_label(Addr address, UInt size, pc_labels labels) {
    if (labels == 0)
        return;
    if (last.count == WORDS) { /* a system call reads any number: the last part stands for all that follow */
        last.parts[WORDS - 1].end = address + size;
        last.parts[WORDS - 1].labels = pc_labels_union(last.parts[WORDS - 1].labels, labels);
        return;
    }
    last.parts[last.count].start = address;
    last.parts[last.count].end = address + size;
    last.parts[last.count++].labels = labels;
}

/* A site without a size is a system call, which is asked for before it loads. */
static pc_labels source(pc_site site, Addr address, UInt size) {
    pc_labels found = 0;
    if (PC_SITE_SIZE(site) == 0)
        pc_kernel_load_seen(address, size);
    if (PC_SITE_PC(site) != last.pc)
        return 0;
    for (UInt i = 0; i < last.count; i++)
        if (last.parts[i].start < address + size && address < last.parts[i].end)
            found = pc_labels_union(found, last.parts[i].labels);
    return found;
}

/* Candidates, and how something depends on them. */
struct found {
    UInt count;
    UInt how; /* enum pc_effect of what is visited now */
    struct {
        ULong number;
        UInt how;
    } list[MOST_AT_ONCE];
};

static void add(ULong number, void *data) {
    struct found *found = data;
    for (UInt i = 0; i < found->count; i++) {
        if (found->list[i].number == number) {
            found->list[i].how |= found->how;
            return;
        }
    }
    if (found->count == MOST_AT_ONCE || pc_candidate_is_over(number))
        return;
    found->list[found->count].number = number;
    found->list[found->count++].how = found->how;
}

static void put(ULong number, UInt how, UInt stack) {
    UChar *recorded = &effects_of[number % MOST_CANDIDATES];
    if (*recorded == MOST_EFFECTS)
        return;
    ++*recorded;
    pc_put_one(-1, (struct pc_memory){
                       .value = number, .stack = stack, .kind = PC_MEMORY_EFFECT, .size = (UChar)how});
}

static void on_store(pc_site site, Addr address, UInt size, pc_labels value, pc_labels where) {
    struct found found = {.how = PC_EFFECT_VALUE};
    const struct pc_range *range = pc_range_from(address);
    if (range == NULL)
        return;
    pc_labels_each(value, add, &found);
    found.how = PC_EFFECT_ADDRESS;
    pc_labels_each(where, add, &found);
    ULong offset = range->offset + (address - range->start);
    for (UInt i = 0; i < found.count; i++)
        if (!pc_candidate_is_at(found.list[i].number, range->file, offset, size))
            put(found.list[i].number, found.list[i].how, pc_stack(PC_SITE_PC(site)));
}

static void on_call(pc_labels labels) {
    struct found found = {.how = PC_EFFECT_OUTPUT};
    pc_labels_each(labels, add, &found);
    for (UInt i = 0; i < found.count; i++)
        put(found.list[i].number, PC_EFFECT_OUTPUT, pc_stack(VG_(get_IP)(pc_running) - 1));
}

void pc_effects_start(void) {
    pc_taint_wanted = True;
    pc_taint_source = source;
    pc_taint_sink = on_store;
    pc_taint_sink_call = on_call;
    pc_taint_is_over = pc_candidate_is_over;
    pc_taint_loads = pc_load_is_labelled;
}

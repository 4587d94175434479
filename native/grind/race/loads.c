/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a load from what may be mapped memory. After: what it loads and who loads it is known, as LOAD and
 * CANDIDATE records and on the board.
 *
 * Most loads are of words that nobody has stored to lately: they are passed by with a look at their line and
 * at the last access to the word.
 */
#include "loads.h"

#include "accesses.h"
#include "candidates.h"
#include "effects.h"
#include "lock_words.h"
#include "spins.h"
#include "stacks.h"

#define WORD   8u
#define RECENT 256u

/* Where the shadow of a page of memory is. */
static struct {
    Addr number; /* address / PC_SHADOW_PAGE; 0: none */
    struct pc_shadow_page *page;
} recent[RECENT];

UInt pc_last_user;

void pc_loads_mapped(void) {
    VG_(memset)(recent, 0, sizeof(recent));
}

static void put_load(struct pc_load *load, ULong offset, Addr address, UInt size, Bool rest) {
    ULong value = 0;
    VG_(memcpy)(&value, (const void *)address, size);
    if (load->stack == 0)
        load->stack = pc_stack(load->site->pc);
    pc_put_one(load->range->file, (struct pc_memory){.value = value,
                                                     .offset = offset,
                                                     .stack = load->stack,
                                                     .file = load->range->file,
                                                     .kind = PC_MEMORY_LOAD | (rest ? PC_MEMORY_REST : 0),
                                                     .size = (UChar)size});
}

/* Bytes of one word were loaded; whether a LOAD record was written. */
static Bool load_word(struct pc_load *load, Addr address, UInt size, Bool rest) {
    ULong offset = load->range->offset + (address - load->range->start), mask = pc_line_mask(offset, size);
    struct pc_shadow_page *page = pc_shadow_page(load->range->file, offset);
    const struct pc_shadow_line *line = pc_shadow_line(page, offset);
    Bool pending = line->count > 0 && pc_is_pending(line, mask);
    ULong access = pc_access_by(load->site) | (pending ? 0 : PC_ACCESS_GUARANTEED);
    Bool fresh = pc_access_word(page, load->range->file, offset, access);
    Bool recorded = fresh && pc_board_wants(PC_BOARD_LOADS);
    if (recorded)
        put_load(load, offset, address, size, rest);
    for (UInt i = 0; pending && i < line->count && pc_board_wants(PC_BOARD_CANDIDATE); i++)
        if ((line->pending[i].mask & mask) != 0)
            pc_effects_label(
                address, size,
                pc_candidate(load, line, &line->pending[i], offset, line->pending[i].mask & mask));
    return recorded;
}

/* Whether bytes of one word would make a candidate with a label. */
static Bool is_due(struct pc_load *load, Addr address, UInt size, Bool rest) {
    ULong offset = load->range->offset + (address - load->range->start), mask = pc_line_mask(offset, size);
    const struct pc_shadow_line *line = pc_shadow_line(pc_shadow_page(load->range->file, offset), offset);
    for (UInt i = 0; i < line->count; i++)
        if ((line->pending[i].mask & mask) != 0 && pc_candidate_is_due(load, &line->pending[i]))
            return True;
    return False;
}

/* All of it that lies in any range, word by word; whether that was true of one. */
static Bool each_word(struct pc_load *load, Addr address, Addr stop,
                      Bool (*visit)(struct pc_load *load, Addr address, UInt size, Bool rest)) {
    Bool rest = False;
    for (; load->range != NULL && load->range->start < stop; load->range = pc_range_from(address)) {
        address = address > load->range->start ? address : load->range->start;
        Addr to = stop < load->range->end ? stop : load->range->end;
        while (address < to) {
            Addr word_end = (address | (WORD - 1)) + 1;
            UInt size = (UInt)((word_end < to ? word_end : to) - address);
            rest |= visit(load, address, size, rest);
            address += size;
        }
        if (address >= stop)
            break;
    }
    return rest;
}

static UInt number_of(Addr address) {
    return (UInt)(address % PC_SHADOW_PAGE / WORD);
}

/* Whether a load brings nothing new: all is guaranteed where it loads, and no store was there since another
 * load that counted. */
static inline Bool is_dull(const struct pc_access_site *site, Addr address, ULong size) {
    Addr number = address / PC_SHADOW_PAGE;
    struct pc_shadow_page *page = recent[number % RECENT].page;
    if (recent[number % RECENT].number != number || address % WORD + size > WORD)
        return False;
    ULong *last = &page->words[number_of(address)], access = pc_access_by(site);
    ULong changed = *last ^ access;
    const struct pc_shadow_line *line = pc_shadow_line(page, address);
    if (line->count != 0 && pc_is_pending(line, pc_line_mask(address, (UInt)size)))
        return False;
    if ((changed & PC_ACCESS_IDENTITY) == 0)
        return True;
    Bool shared = (*last & PC_ACCESS_SHARED) != 0;
    Bool matters = shared ? (changed & PC_ACCESS_SITE) != 0
                          : (changed & PC_ACCESS_THREAD) != 0 && page->stored[number_of(address)] != 0;
    if ((*last & PC_ACCESS_STORES) != 0 || matters || pc_board_wants(PC_BOARD_LOADS))
        return False;
    *last = access | PC_ACCESS_GUARANTEED | (*last & PC_ACCESS_SHARED);
    return True;
}

/* Counts a load from mapped memory; how many the thread has made at the site. */
static inline UInt count(struct pc_access_site *site) {
    pc_count_switch();
    pc_board->loads++;
    return ++*pc_site_occurrences(site, pc_self()->index);
}

static void load_slowly(struct pc_access_site *site, Addr address, SizeT size) {
    const struct pc_range *range = pc_range_from(address);
    Addr number = address / PC_SHADOW_PAGE;
    if (range == NULL || range->start >= address + size)
        return;
    if (range->start <= address) {
        recent[number % RECENT].number = number;
        recent[number % RECENT].page = pc_shadow_page(range->file, range->offset + (address - range->start));
    }
    struct pc_load load = {.range = range, .site = site, .occurrence = count(site)};
    each_word(&load, address, address + size, load_word);
}

/* The lock words are told of what may be one, and so is who looks for spinning threads. */
static inline void swaps(pc_told told, Addr address) {
    if (PC_TOLD_SWAPS(told) && pc_board_wants(PC_BOARD_ORDER))
        pc_lock_word_swaps(address, PC_TOLD_SIZE(told));
    const struct pc_access_site *site = PC_TOLD_SITE(told);
    pc_spins_loaded(site->pc, address, PC_TOLD_SIZE(told), PC_TOLD_SWAPS(told));
}

void pc_load_seen(pc_told told, Addr address) {
    struct pc_access_site *site = PC_TOLD_SITE(told);
    pc_effects_begin(site, address);
    if (is_dull(site, address, PC_TOLD_SIZE(told)))
        count(site);
    else
        load_slowly(site, address, PC_TOLD_SIZE(told));
    swaps(told, address);
}

Bool pc_load_is_labelled(pc_told told, Addr address) {
    struct pc_access_site *site = PC_TOLD_SITE(told);
    UInt size = PC_TOLD_SIZE(told);
    if (is_dull(site, address, size)) {
        count(site);
    } else {
        struct pc_load load = {.range = pc_range_from(address), .site = site};
        if (pc_board_wants(PC_BOARD_CANDIDATE) && each_word(&load, address, address + size, is_due))
            return True;
        load_slowly(site, address, size);
    }
    swaps(told, address);
    return False;
}

void pc_kernel_load_seen(Addr address, SizeT size) {
    struct pc_access_site *site = pc_site_at(VG_(get_IP)(pc_running) - 1);
    pc_effects_begin(site, address);
    load_slowly(site, address, size);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every store, flush and fence is told, in order. After: a line's pending stores are those that a
 * power cut may lose, as far as their bytes are the last ones stored.
 *
 * The stores to one line persist in order (M1): so one number, how many are guaranteed, says it for all. A
 * store whose bytes are all overwritten is forgotten: when the later one is guaranteed, so was it.
 */
#include "shadow.h"

#include "pub_tool_hashtable.h"
#include "thread_states.h"
#include "threads.h"

#define RECENT 256u

/* What a thread's next fence guarantees. */
struct flushed {
    struct pc_shadow_line *line;
    UInt stores;
};

static struct {
    struct flushed *list;
    UInt count, room;
} flushed_by[PC_CHANNEL_SLOTS];

static VgHashTable *pages;
static struct pc_shadow_page *recent[RECENT];

struct pc_shadow_page *pc_shadow_page(UInt file, ULong offset) {
    UWord key = (ULong)file << 48 | offset / PC_SHADOW_PAGE;
    struct pc_shadow_page **place = &recent[(key ^ key >> 40) & (RECENT - 1)], *page = *place;
    if (page != NULL && page->key == key)
        return page;
    if (pages == NULL)
        pages = VG_(HT_construct)("powercut.shadow");
    page = VG_(HT_lookup)(pages, key);
    if (page == NULL) {
        page = VG_(calloc)("powercut.shadow", 1, sizeof(*page));
        page->key = key;
        VG_(HT_add_node)(pages, page);
    }
    return *place = page;
}

static void guarantee(struct pc_shadow_line *line, UInt stores) {
    UInt kept = 0;
    if (stores <= line->guaranteed)
        return;
    line->guaranteed = stores;
    for (UInt i = 0; i < line->count; i++)
        if (line->pending[i].position > stores)
            line->pending[kept++] = line->pending[i];
    line->count = (UShort)kept;
}

static void at_next_fence(struct pc_shadow_line *line) {
    if (pc_running >= PC_CHANNEL_SLOTS || line->count == 0)
        return;
    UInt count = flushed_by[pc_running].count;
    if (count == flushed_by[pc_running].room) {
        UInt room = count == 0 ? 64 : count * 2;
        flushed_by[pc_running].list =
            VG_(realloc)("powercut.flushed", flushed_by[pc_running].list, room * sizeof(struct flushed));
        flushed_by[pc_running].room = room;
    }
    flushed_by[pc_running].list[count] = (struct flushed){line, line->stores};
    flushed_by[pc_running].count++;
}

void pc_shadow_store(struct pc_shadow_line *line, ULong mask, struct pc_access_site *site, UInt occurrence,
                     Bool nontemporal) {
    UInt kept = 0;
    for (UInt i = 0; i < line->count; i++) {
        line->pending[i].mask &= ~mask;
        if (line->pending[i].mask != 0)
            line->pending[kept++] = line->pending[i];
    }
    if (kept == line->room) {
        line->room = line->room == 0 ? 2 : line->room * 2;
        line->pending = VG_(realloc)("powercut.pending", line->pending, line->room * sizeof(*line->pending));
    }
    line->pending[kept] = (struct pc_pending_store){.mask = mask,
                                                    .position = ++line->stores,
                                                    .occurrence = occurrence,
                                                    .site = site,
                                                    .thread = pc_self()->index};
    line->count = (UShort)(kept + 1);
    if (nontemporal)
        at_next_fence(line);
}

void pc_shadow_flush(struct pc_shadow_line *line, Bool at_once) {
    if (at_once)
        guarantee(line, line->stores);
    else
        at_next_fence(line);
}

void pc_shadow_fence(void) {
    if (pc_running >= PC_CHANNEL_SLOTS)
        return;
    for (UInt i = 0; i < flushed_by[pc_running].count; i++)
        guarantee(flushed_by[pc_running].list[i].line, flushed_by[pc_running].list[i].stores);
    flushed_by[pc_running].count = 0;
}

void pc_shadow_thread_ended(ThreadId tid) {
    if (tid < PC_CHANNEL_SLOTS)
        flushed_by[tid].count = 0;
}

void pc_shadow_sync(UInt file, ULong offset, ULong length) {
    if (pages == NULL)
        return;
    VG_(HT_ResetIter)(pages);
    for (struct pc_shadow_page *page; (page = VG_(HT_Next)(pages)) != NULL;) {
        ULong start = (page->key & 0xffffffffffffull) * PC_SHADOW_PAGE;
        Bool inside = length == 0 || (start < offset + length && start + PC_SHADOW_PAGE > offset);
        if (page->key >> 48 == file && inside)
            for (UInt i = 0; i < PC_SHADOW_PAGE / PC_LINE; i++)
                guarantee(&page->lines[i], page->lines[i].stores);
    }
}

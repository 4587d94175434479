/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every access to a mapped word is told. After: the board holds each pair of accesses by two threads,
 * one right after the other and at least one a store, and the words that one thread stored to and another
 * used, with the sites that used them since.
 */
#include "accesses.h"

#define DROPPED 0xffffu /* there was no room for it */

static UInt indexes[1 << 16]; /* of files, by number */

void pc_file_mapped(ULong inode) {
    Int file = pc_file_number(inode);
    if (file < 0 || indexes[file] != 0)
        return;
    indexes[file] = ++pc_board->files;
    if (indexes[file] <= PC_BOARD_FILES)
        pc_board->inodes[indexes[file] - 1] = inode;
}

UInt pc_file_index(UInt file) {
    return indexes[file];
}

static UInt thread_in(ULong access) {
    return (UInt)((access & PC_ACCESS_THREAD) >> 24);
}

static struct pc_access_site *site_in(ULong access) {
    return pc_site_by_number((UInt)(access & PC_ACCESS_SITE));
}

/* The board's entry for a word, made if it is new; NULL: there is no room. */
static struct pc_board_shared *shared_at(struct pc_shadow_page *page, UInt file, ULong offset) {
    UShort *place = &page->shared[offset % PC_SHADOW_PAGE / 8];
    if (*place == 0 && pc_board->shared_count == PC_BOARD_SHARED) {
        pc_board->shared_dropped++;
        *place = DROPPED;
    } else if (*place == 0) {
        struct pc_board_shared *word = &pc_board->shared[pc_board->shared_count];
        word->offset = offset;
        word->file = pc_file_index(file);
        *place = (UShort)++pc_board->shared_count;
    }
    return *place == DROPPED ? NULL : &pc_board->shared[*place - 1];
}

static void add_site(UInt *sites, UInt *count, UInt site) {
    for (UInt i = 0; i < *count; i++)
        if (sites[i] == site)
            return;
    if (*count < PC_BOARD_SHARED_SITES)
        sites[(*count)++] = site;
}

static void add_access(struct pc_board_shared *word, ULong access) {
    UInt site = pc_site_told(site_in(access));
    UInt thread = thread_in(access) - 1;
    Bool stores = (access & PC_ACCESS_STORES) != 0;
    word->threads |= 1u << (thread < 31 ? thread : 31);
    if (stores)
        add_site(word->store_sites, &word->store_count, site);
    else
        add_site(word->load_sites, &word->load_count, site);
    word->stores += stores;
    word->loads += !stores;
}

static ULong hash_of(ULong access) {
    const struct pc_board_site *name = &site_in(access)->name;
    ULong guaranteed = (access & PC_ACCESS_GUARANTEED) != 0;
    return pc_mix(pc_mix(name->module, name->offset), (ULong)thread_in(access) << 1 | guaranteed);
}

/* Two threads, one right after the other. */
static void on_pair(struct pc_board_shared *word, ULong before, ULong now) {
    pc_board->aliases += pc_board_set(pc_board->alias_bitmap, pc_mix(hash_of(before), hash_of(now)));
    if (word != NULL)
        word->pairs++;
}

/* The word is one that threads share: what was there before is told, and the last store. */
static void begin_sharing(struct pc_board_shared *word, ULong before, ULong stored) {
    if (stored != 0 && stored != (before & (PC_ACCESS_SITE | PC_ACCESS_THREAD)))
        add_access(word, stored | PC_ACCESS_STORES);
    add_access(word, before);
}

Bool pc_access_word(struct pc_shadow_page *page, UInt file, ULong offset, ULong access) {
    UInt number = (UInt)(offset % PC_SHADOW_PAGE / 8);
    ULong *last = &page->words[number], before = *last, changed = before ^ access,
          stored = page->stored[number];
    Bool stores = (access & PC_ACCESS_STORES) != 0, shared = (before & PC_ACCESS_SHARED) != 0;
    *last = access | (before & PC_ACCESS_SHARED);
    if (stores)
        page->stored[number] = (UInt)(access & (PC_ACCESS_SITE | PC_ACCESS_THREAD));
    if ((changed & PC_ACCESS_IDENTITY) == 0)
        return stores;
    Bool other = before != 0 && (changed & PC_ACCESS_THREAD) != 0;
    Bool pair = other && (stores || (before & PC_ACCESS_STORES) != 0);
    Bool begins = !shared && other && (pair || stored != 0);
    Bool news = shared && (changed & (PC_ACCESS_SITE | PC_ACCESS_STORES)) != 0;
    if (!(pair || begins || news) || !pc_board_wants(PC_BOARD_ALIASES))
        return True;
    struct pc_board_shared *word = shared_at(page, file, offset & ~7ull);
    if (begins && word != NULL)
        begin_sharing(word, before, stored);
    if (pair)
        on_pair(word, before, access);
    if (word != NULL)
        add_access(word, access);
    *last |= PC_ACCESS_SHARED;
    return True;
}

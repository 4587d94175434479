/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: ranges (grind/ranges.h) are the mappings of data files; `writable` says that a mapping is shared.
 * Only there a store is what every later read finds. After pc_loaded_tell: the watcher knows all that was
 * read.
 *
 * A byte that was stored and then read says nothing about the file as it was: it follows from earlier reads.
 */
#include "loaded.h"

#include "pub_tool_hashtable.h"

#include "ranges.h"
#include "tell.h"

#define PAGE PC_TELL_PAGE

struct page {
    struct page *next; /* as the table wants it, and the key */
    UWord key;
    ULong inode, offset;
    UChar read[PAGE / 8], stored[PAGE / 8];
};

static VgHashTable *pages;
static struct page *last; /* the one looked for before: the next is mostly the same */
static ULong secret;
static Bool any;

Bool pc_loaded_option(const HChar *argument) {
    return VG_BINT_CLO(argument, "--secret", secret, 0, ~0ULL >> 1);
}

void pc_loaded_init(void) {
    pages = VG_(HT_construct)("powercut.pages");
}

static struct page *page_of(const struct pc_range *range, ULong offset) {
    UWord key = (UWord)range->file << 48 | (UWord)(offset / PAGE);
    if (last != NULL && last->key == key)
        return last;
    struct page *found = VG_(HT_lookup)(pages, key);
    if (found == NULL) {
        found = VG_(calloc)("powercut.page", 1, sizeof(*found));
        found->key = key;
        found->inode = pc_files[range->file].inode;
        found->offset = offset / PAGE * PAGE;
        VG_(HT_add_node)(pages, found);
    }
    last = found;
    return found;
}

enum how { LOADED, STORED, KNOWN_TO_BE_LOADED };

static void mark(const struct pc_range *range, Addr from, Addr to, enum how how) {
    for (Addr at = from; at < to; at++) {
        ULong offset = at - range->start + range->offset;
        struct page *page = page_of(range, offset);
        UInt byte = (UInt)(offset % PAGE) / 8;
        UChar bit = (UChar)(1u << offset % 8);
        if (how == STORED)
            page->stored[byte] |= bit;
        else if (how == KNOWN_TO_BE_LOADED || !range->writable || (page->stored[byte] & bit) == 0)
            page->read[byte] |= bit;
    }
    any = True;
}

static void mark_all(Addr address, SizeT size, enum how how) {
    Addr end = address + size;
    const struct pc_range *range = pc_range_from(address);
    for (; range != NULL && range->start < end; range = pc_range_from(range->end)) {
        if (how == STORED && !range->writable)
            continue;
        mark(range, address > range->start ? address : range->start, end < range->end ? end : range->end,
             how);
    }
}

void pc_on_load(Addr address, SizeT size) {
    mark_all(address, size, LOADED);
}

void pc_on_store(Addr address, SizeT size) {
    mark_all(address, size, STORED);
}

void pc_on_load_of_all(Addr address, SizeT size) {
    mark_all(address, size, KNOWN_TO_BE_LOADED);
}

static void tell(const struct pc_told_page *told, ULong count, Bool final) {
    Long result;
    register ULong r10 __asm__("r10") = final;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((Long)PC_TELL_CALL), "D"(secret), "S"(told), "d"(count), "r"(r10)
                     : "rcx", "r11", "memory");
}

void pc_loaded_tell(Bool final) {
    if (!any)
        return tell(NULL, 0, final);
    UInt room = VG_(HT_count_nodes)(pages), count = 0;
    struct pc_told_page *told = VG_(calloc)("powercut.told", room, sizeof(*told));
    VG_(HT_ResetIter)(pages);
    for (const struct page *page; (page = VG_(HT_Next)(pages)) != NULL;) {
        Bool read = False;
        for (UInt word = 0; word < PAGE / PC_TELL_WORD; word++) {
            if (page->read[word] != 0) { /* 8 bytes, a bit each */
                told[count].words[word / 8] |= (UChar)(1u << word % 8);
                read = True;
            }
        }
        told[count].inode = page->inode;
        told[count].offset = page->offset;
        count += read;
    }
    tell(told, count, final);
    VG_(free)(told);
}

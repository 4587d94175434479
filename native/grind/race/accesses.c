/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every access to a mapped word is told. After: the board holds each pair of accesses by two threads,
 * one right after the other, and the words where that happened, with the sites that used them since.
 *
 * The last access to a word is one number, so that the common case, the same thread again, is one comparison:
 *
 *    0       24      34 35 36                 64
 *   +-------+-------+--+--+------------------+
 *   | site  |thread |st|sh| epoch of thread  |      st: it stored, sh: threads share the word
 *   +-------+-------+--+--+------------------+
 *
 * Whether what it found was guaranteed is part of a pair; it stands in the highest bit.
 */
#include "accesses.h"

#include "crew.h"
#include "pub_tool_hashtable.h"

#define SITE_MASK    0xffffffull
#define THREAD_SHIFT 24
#define THREAD_MASK  1023ull
#define STORES       (1ull << 34)
#define SHARED       (1ull << 35)
#define EPOCH_SHIFT  36
#define EPOCH_MASK   0x7ffffffull
#define GUARANTEED   (1ull << 63)

struct shared_word {
    struct shared_word *next;
    UWord key;
    UInt place; /* on the board */
};

static UInt indexes[1 << 16]; /* of files, by number */
static VgHashTable *shared_words;

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

static ULong pack(const struct pc_access *access, UInt epoch) {
    return (access->site->number & SITE_MASK) | (access->thread & THREAD_MASK) << THREAD_SHIFT |
           (access->stores ? STORES : 0) | (epoch & EPOCH_MASK) << EPOCH_SHIFT |
           (access->guaranteed ? GUARANTEED : 0);
}

static UInt thread_in(ULong packed) {
    return (UInt)(packed >> THREAD_SHIFT & THREAD_MASK);
}

static struct pc_board_shared *shared_at(UInt file, ULong offset) {
    UWord key = (ULong)file << 48 | offset;
    if (shared_words == NULL)
        shared_words = VG_(HT_construct)("powercut.shared");
    struct shared_word *word = VG_(HT_lookup)(shared_words, key);
    if (word == NULL && pc_board->shared_count == PC_BOARD_SHARED) {
        pc_board->shared_dropped++;
        return NULL;
    }
    if (word == NULL) {
        word = VG_(malloc)("powercut.shared", sizeof(*word));
        *word = (struct shared_word){.key = key, .place = pc_board->shared_count};
        VG_(HT_add_node)(shared_words, word);
        pc_board->shared[word->place].offset = offset;
        pc_board->shared[word->place].file = pc_file_index(file);
        pc_board->shared_count++;
    }
    return &pc_board->shared[word->place];
}

static void add_site(UInt *sites, UInt *count, UInt site) {
    for (UInt i = 0; i < *count; i++)
        if (sites[i] == site)
            return;
    if (*count < PC_BOARD_SHARED_SITES)
        sites[(*count)++] = site;
}

static void add_access(struct pc_board_shared *word, ULong packed) {
    UInt site = pc_site_told(pc_site_by_number((UInt)(packed & SITE_MASK)));
    UInt thread = thread_in(packed) - 1;
    Bool stores = (packed & STORES) != 0;
    word->threads |= 1u << (thread < 31 ? thread : 31);
    if (stores)
        add_site(word->store_sites, &word->store_count, site);
    else
        add_site(word->load_sites, &word->load_count, site);
    word->stores += stores;
    word->loads += !stores;
}

static ULong hash_of(ULong packed) {
    const struct pc_access_site *site = pc_site_by_number((UInt)(packed & SITE_MASK));
    ULong facts = (ULong)thread_in(packed) << 1 | (packed & GUARANTEED) >> 63;
    return pc_mix(pc_mix(site->name.module, site->name.offset), facts);
}

/* Two threads, one right after the other. */
static void on_pair(struct pc_board_shared *word, ULong before, ULong now) {
    pc_board->aliases += pc_board_set(pc_board->alias_bitmap, pc_mix(hash_of(before), hash_of(now)));
    if (word == NULL)
        return;
    if ((before & SHARED) == 0)
        add_access(word, before);
    word->pairs++;
}

Bool pc_access_word(struct pc_shadow_page *page, UInt file, ULong offset, const struct pc_access *access) {
    ULong *last = &page->words[offset % PC_SHADOW_PAGE / 8], before = *last;
    ULong now = pack(access, pc_self()->epoch);
    Bool other_thread = before != 0 && thread_in(before) != thread_in(now);
    *last = now | (before & SHARED);
    if (!other_thread && ((before ^ now) & ~(SHARED | GUARANTEED)) == 0)
        return access->stores;
    Bool other_site = ((before ^ now) & (SITE_MASK | STORES)) != 0;
    if (!other_thread && ((before & SHARED) == 0 || !other_site))
        return True;
    if (!pc_board_wants(PC_BOARD_ALIASES))
        return True;
    struct pc_board_shared *word = shared_at(file, offset & ~7ull);
    if (other_thread)
        on_pair(word, before, now);
    if (word != NULL)
        add_access(word, now);
    *last |= SHARED;
    return True;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page of labels for each page of memory that ever had one, found by hash. Pages of mapped files are found
 * by file and offset: their labels outlive mappings, and a file mapped twice has them once.
 *
 * A page holds one word for each 8 bytes of memory: the set that all of them have, or what bytes.h makes of
 * sets that differ. So memory is a half of what labelled pages hold, and most accesses look at one word.
 */
#include "memory.h"

#include "bytes.h"
#include "ranges.h"

#define PAGE       4096u
#define PAGE_SHIFT 12u
#define WORD       8u
#define WORDS      (PAGE / WORD)
#define OF_FILE    (1ull << 63) /* in the key of a page */
#define FILE_SHIFT 44u
#define FIRST_SIZE 1024u
#define RECENT     512u
#define BELOW      (PC_LABELLED_REACH + PC_LABELLED_NEAR) /* where an access may look that has a part here */
#define MAPPED     0x8000u /* in the filter: part of a range, or just below or above one */
#define FULL       0x7fffu /* in the filter: too many labelled words to be counted */

/* Labelled words in each part of memory, and whether it may be MAPPED. */
UShort pc_labelled_filter[PC_LABELLED_MASK + 1];
void (*pc_labelled_painter)(ULong inode, ULong offset, pc_paint paint, void *page);

struct page {
    struct page *next;
    ULong key;
    pc_word words[WORDS];
};

static struct page **table;
static UInt table_size, page_count;
/* The last answers, by key: most accesses are to few pages. */
static struct {
    ULong key;
    struct page *page; /* NULL: there is none */
} recent[RECENT];

static struct pc_range near; /* the range that was last found */
static ULong near_key;       /* of its first page */

static UInt bucket_of(ULong key) {
    return (UInt)(key * 0x9e3779b97f4a7c15ull >> 32) & (table_size - 1);
}

static void grow(void) {
    struct page **old = table;
    UInt old_size = table_size;
    table_size = old_size == 0 ? FIRST_SIZE : 2 * old_size;
    table = VG_(calloc)("powercut.shadow", table_size, sizeof(*table));
    for (UInt i = 0; i < old_size; i++) {
        for (struct page *page = old[i], *next; page != NULL; page = next) {
            next = page->next;
            page->next = table[bucket_of(page->key)];
            table[bucket_of(page->key)] = page;
        }
    }
    VG_(free)(old);
}

static struct page *find(ULong key) {
    if (recent[key % RECENT].key == key)
        return recent[key % RECENT].page;
    struct page *page = table_size == 0 ? NULL : table[bucket_of(key)];
    while (page != NULL && page->key != key)
        page = page->next;
    recent[key % RECENT].key = key;
    recent[key % RECENT].page = page;
    return page;
}

static struct page *make(ULong key) {
    if (page_count >= table_size)
        grow();
    struct page *page = VG_(calloc)("powercut.shadow", 1, sizeof(*page));
    page->key = key;
    page->next = table[bucket_of(key)];
    table[bucket_of(key)] = page;
    page_count++;
    recent[key % RECENT].key = key;
    recent[key % RECENT].page = page;
    return page;
}

static void count_part(ULong part, Bool more) {
    UShort *entry = &pc_labelled_filter[part & PC_LABELLED_MASK];
    if ((*entry & FULL) != FULL)
        *entry = (UShort)(*entry + (more ? 1 : -1));
}

/* A word got its first label, or lost its last one. Who looks may look at a part nearby. */
static void count_word(ULong key, UInt index, Bool more) {
    if ((key & OF_FILE) != 0)
        return;
    Addr address = key << PAGE_SHIFT | index * WORD;
    ULong first = (address - BELOW) >> PC_LABELLED_SHIFT,
          last = (address + WORD + PC_LABELLED_NEAR) >> PC_LABELLED_SHIFT;
    count_part(first, more);
    if (last != first)
        count_part(last, more);
}

static void set_word(struct page *page, UInt index, pc_word word) {
    pc_word before = page->words[index];
    page->words[index] = word;
    if ((before == 0) != (word == 0))
        count_word(page->key, index, word != 0);
}

static void write_page(struct page *page, UInt offset, UInt length, pc_labels labels) {
    for (UInt end = offset + length; offset < end;) {
        UInt index = offset / WORD, from = offset % WORD;
        UInt to = end - index * WORD < WORD ? end - index * WORD : WORD;
        Bool whole = to - from == WORD;
        set_word(page, index, whole ? labels : pc_word_with(page->words[index], from, to, labels));
        offset = (index + 1) * WORD;
    }
}

static void paint(void *page, UInt offset, UInt length, pc_labels labels) {
    write_page(page, offset, length, labels);
}

static void mark(const struct pc_range *range, Bool mapped) {
    ULong first = (range->start - BELOW) >> PC_LABELLED_SHIFT;
    ULong end = (range->end + PC_LABELLED_NEAR) >> PC_LABELLED_SHIFT;
    if (end - first > PC_LABELLED_MASK)
        end = first + PC_LABELLED_MASK;
    for (ULong part = first; part <= end; part++) {
        UShort *entry = &pc_labelled_filter[part & PC_LABELLED_MASK];
        *entry = (UShort)(mapped ? *entry | MAPPED : *entry & ~MAPPED);
    }
}

void pc_taint_ranges_changed(const struct pc_range *ranges, UInt count) {
    static struct pc_range *known;
    static UInt known_count;
    near = (struct pc_range){0};
    if (!pc_taint_wanted)
        return;
    for (UInt i = 0; i < known_count; i++)
        mark(&known[i], False);
    known = VG_(realloc)("powercut.marks", known, (count + 1) * sizeof(*known));
    known_count = count;
    for (UInt i = 0; i < count; i++) {
        known[i] = ranges[i];
        mark(&known[i], True);
    }
}

/* Which page an address lies in. */
static ULong key_of(Addr address) {
    if ((pc_labelled_filter[address >> PC_LABELLED_SHIFT & PC_LABELLED_MASK] & MAPPED) == 0)
        return address >> PAGE_SHIFT;
    if (address < near.start || address >= near.end) {
        const struct pc_range *range = pc_range_from(address);
        if (range == NULL || range->start > address)
            return address >> PAGE_SHIFT;
        near = *range;
        near_key = OF_FILE | (ULong)range->file << FILE_SHIFT | range->offset >> PAGE_SHIFT;
    }
    return near_key + ((address - near.start) >> PAGE_SHIFT);
}

static struct page *make_painted(ULong key) {
    struct page *page = make(key);
    UInt file = (UInt)((key & ~OF_FILE) >> FILE_SHIFT);
    ULong offset = (key & ((1ull << FILE_SHIFT) - 1)) << PAGE_SHIFT;
    if (pc_labelled_painter != NULL && (key & OF_FILE) != 0)
        pc_labelled_painter(pc_files[file].inode, offset, paint, page);
    return page;
}

/* The page that an address lies in; NULL: no byte of it has labels. */
static struct page *page_at(Addr address) {
    ULong key = key_of(address);
    struct page *page = find(key);
    if (page == NULL && pc_labelled_painter != NULL && (key & OF_FILE) != 0)
        return make_painted(key);
    return page;
}

/* Calls something for each page that a range has a part in. */
#define EACH_PART(address, length, part, size)                                                               \
    for (Addr part = (address), end_ = part + (length), size = 0;                                            \
         part < end_ && (size = PAGE - part % PAGE, size = size < end_ - part ? size : end_ - part, True);   \
         part += size)

static pc_labels read_page(const struct page *page, UInt offset, UInt length) {
    pc_labels found = 0;
    for (UInt end = offset + length; offset < end;) {
        UInt index = offset / WORD, from = offset % WORD;
        UInt to = end - index * WORD < WORD ? end - index * WORD : WORD;
        pc_word word = page->words[index];
        if (word != 0)
            found = pc_labels_union(found, pc_word_read(word, from, to));
        offset = (index + 1) * WORD;
    }
    return found;
}

pc_labels pc_labelled_read(Addr address, SizeT length) {
    pc_labels found = 0;
    if (address % WORD + length <= WORD) { /* by far the most */
        const struct page *page = page_at(address);
        pc_word word = page == NULL ? 0 : page->words[address % PAGE / WORD];
        return word == 0 ? 0 : pc_word_read(word, address % WORD, (UInt)(address % WORD + length));
    }
    EACH_PART(address, length, part, size) {
        const struct page *page = page_at(part);
        if (page != NULL)
            found = pc_labels_union(found, read_page(page, part % PAGE, (UInt)size));
    }
    return found;
}

void pc_labelled_write(Addr address, SizeT length, pc_labels labels) {
    EACH_PART(address, length, part, size) {
        struct page *page = page_at(part);
        if (page == NULL && labels != 0)
            page = make_painted(key_of(part));
        if (page != NULL)
            write_page(page, part % PAGE, (UInt)size, labels);
    }
}

pc_labels pc_labelled_now(Addr address, SizeT length) {
    pc_labels found = pc_labelled_read(address, length);
    if (found == 0 || !pc_labels_are_over(found))
        return found;
    pc_labelled_write(address, length, 0);
    return 0;
}

static void drop(struct page **link) {
    struct page *page = *link;
    for (UInt i = 0; i < WORDS; i++)
        set_word(page, i, 0);
    *link = page->next;
    if (recent[page->key % RECENT].page == page)
        recent[page->key % RECENT].key = 0;
    page_count--;
    VG_(free)(page);
}

/* Drops those pages of a bucket that lie in a range of whole pages. */
static void drop_from(UInt bucket, ULong first, ULong end) {
    for (struct page **link = &table[bucket]; *link != NULL;) {
        if ((*link)->key >= first && (*link)->key < end)
            drop(link);
        else
            link = &(*link)->next;
    }
}

void pc_labelled_forget(Addr address, SizeT length) {
    ULong first = address >> PAGE_SHIFT, end = (address + length + PAGE - 1) >> PAGE_SHIFT;
    if (page_count == 0 || length == 0)
        return;
    if (end - first >= table_size) {
        for (UInt bucket = 0; bucket < table_size; bucket++)
            drop_from(bucket, first, end);
        return;
    }
    for (ULong key = first; key < end; key++)
        drop_from(bucket_of(key), key, key + 1);
}

void pc_labelled_move(Addr from, Addr to, SizeT length) {
    if (from == to)
        return;
    pc_labelled_forget(to, length);
    for (SizeT done = 0; done < length; done += PAGE) {
        const struct page *page = find((from + done) >> PAGE_SHIFT);
        for (UInt i = 0; page != NULL && i < WORDS; i++) {
            if (page->words[i] == 0)
                continue;
            struct page *target = find((to + done) >> PAGE_SHIFT);
            set_word(target != NULL ? target : make((to + done) >> PAGE_SHIFT), i, page->words[i]);
        }
    }
    pc_labelled_forget(from, length);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: every store to mapped memory is told. After: LOCK and UNLOCK records stand behind those that take
 * and free a lock word.
 *
 * A word is taken by a compare and swap or an exchange that changes it from 0 to a small number, and freed by
 * any store of what it was before, by the same thread. Large numbers are more likely pointers that are
 * published; a word where another thread swaps while it is taken is no lock.
 */
#include "lock_words.h"

#include "accesses.h"
#include "order.h"
#include "pub_tool_hashtable.h"
#include "stacks.h"
#include "thread_states.h"
#include "threads.h"

#define LARGEST_MARK 0xffffull /* that a thread leaves in a word that it takes */

struct lock_word {
    struct lock_word *next;
    UWord key;
    ULong initial;
    UInt holder; /* thread index, 0: it is free */
    UInt size;
    Bool told;  /* by the program */
    Bool never; /* it is none */
};

static VgHashTable *words;
static struct {
    Addr address; /* 0: none */
    ThreadId thread;
    ULong value;
} swaps;

static UWord key_of(const struct pc_range *range, Addr address) {
    return (ULong)range->file << 48 | (range->offset + (address - range->start));
}

static ULong value_at(Addr address, UInt size) {
    ULong value = 0;
    VG_(memcpy)(&value, (const void *)address, size);
    return value;
}

void pc_lock_word_swaps(Addr address, UInt size) {
    const struct pc_range *range = pc_range_from(address);
    swaps.address = 0;
    if (size > sizeof(ULong) || range == NULL || range->start > address || address + size > range->end)
        return;
    swaps.address = address;
    swaps.thread = pc_running;
    swaps.value = value_at(address, size);
}

static struct lock_word *add(UWord key, ULong initial, UInt size) {
    struct lock_word *word = VG_(calloc)("powercut.lock", 1, sizeof(*word));
    word->key = key;
    word->initial = initial;
    word->size = size;
    VG_(HT_add_node)(words, word);
    return word;
}

static void take(struct lock_word *word, Addr pc, Addr address) {
    word->holder = pc_self()->index;
    pc_order(PC_ORDER_LOCK, pc, address);
}

static void set_free(struct lock_word *word, Addr pc, Addr address) {
    word->holder = 0;
    pc_order(PC_ORDER_UNLOCK, pc, address);
}

void pc_lock_word_stored(UInt kind, Addr pc, const struct pc_range *range, Addr from, Addr to) {
    Bool swapped = (kind & ~(UInt)PC_MEMORY_REST) == PC_MEMORY_STORE_LOCKED && swaps.address == from &&
                   swaps.thread == pc_running;
    ULong before = swaps.value;
    UInt size = (UInt)(to - from);
    swaps.address = 0;
    if (words == NULL)
        words = VG_(HT_construct)("powercut.locks");
    struct lock_word *word = size <= sizeof(ULong) ? VG_(HT_lookup)(words, key_of(range, from)) : NULL;
    if (size > sizeof(ULong) || (word == NULL && !swapped) || (word != NULL && word->never))
        return;
    ULong now = value_at(from, size);
    Bool takes = swapped && before == 0 && now != 0 && now <= LARGEST_MARK;
    if (word == NULL && takes)
        word = add(key_of(range, from), before, size);
    if (word == NULL || word->size != size)
        return;
    if (word->told ? now != word->initial && word->holder == 0 : takes && word->holder == 0)
        take(word, pc, from);
    else if (word->holder != 0 && now == word->initial && (word->told || word->holder == pc_self()->index))
        set_free(word, pc, from);
    else if (swapped && before != now && word->holder != 0 && word->holder != pc_self()->index)
        word->never = !word->told;
}

void pc_lock_word_told(Addr pc, Addr address, SizeT size, ULong initial) {
    const struct pc_range *range = pc_range_from(address);
    if (size == 0 || size > sizeof(ULong) || range == NULL || range->start > address)
        return;
    if (words == NULL)
        words = VG_(HT_construct)("powercut.locks");
    struct lock_word *word = VG_(HT_lookup)(words, key_of(range, address));
    if (word == NULL)
        word = add(key_of(range, address), initial, (UInt)size);
    word->initial = initial;
    word->size = (UInt)size;
    word->told = True;
    word->never = False;
    pc_put_one(range->file, (struct pc_memory){.value = initial,
                                               .offset = range->offset + (address - range->start),
                                               .stack = pc_stack(pc),
                                               .file = range->file,
                                               .kind = PC_MEMORY_ORDER,
                                               .size = (UChar)(PC_ORDER_SYNC_VAR + size)});
}

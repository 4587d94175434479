/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads use which words, and after whom: the coverage of alias pairs, and the words that threads
 * share. */
#ifndef POWERCUT_GRIND_RACE_ACCESSES_H
#define POWERCUT_GRIND_RACE_ACCESSES_H

#include "ranges.h"
#include "shadow.h"
#include "thread_states.h"

/* An access to a word in one number, so that the common case, the same again, is one comparison:
 *
 *    0       24      32 33 34                 63 64
 *   +-------+-------+--+--+------------------+--+
 *   | site  |thread |st|sh| epoch of thread  |gu|      st: it stores, sh: threads share the word
 *   +-------+-------+--+--+------------------+--+      gu: what was there was guaranteed
 *
 * The epoch only counts where loads are recorded. */
#define PC_ACCESS_SITE       0xffffffull
#define PC_ACCESS_THREAD     (255ull << 24) /* later threads share these numbers */
#define PC_ACCESS_STORES     (1ull << 32)
#define PC_ACCESS_SHARED     (1ull << 33)
#define PC_ACCESS_EPOCH      (0x1fffffffull << 34)
#define PC_ACCESS_GUARANTEED (1ull << 63)
#define PC_ACCESS_IDENTITY   (PC_ACCESS_SITE | PC_ACCESS_THREAD | PC_ACCESS_STORES | PC_ACCESS_EPOCH)

/* The running thread's load at a site; what was there is not said yet. */
static inline ULong pc_access_by(const struct pc_access_site *site) {
    return (site->number & PC_ACCESS_SITE) | pc_self()->bits;
}

/* The order of a mapped file among those that the process mapped, from 1. */
UInt pc_file_index(UInt file);
/* A file of the data folder is mapped. */
void pc_file_mapped(ULong inode);

/* An access to a word. False: it is a load that the same thread has made at the same site, with nothing in
 * between that counts (another access to the word, an event that orders the thread). */
Bool pc_access_word(struct pc_shadow_page *page, UInt file, ULong offset, ULong access);

#endif

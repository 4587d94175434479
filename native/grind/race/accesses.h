/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads use which words, and after whom: the coverage of alias pairs, and the words that threads
 * share. */
#ifndef POWERCUT_GRIND_RACE_ACCESSES_H
#define POWERCUT_GRIND_RACE_ACCESSES_H

#include "ranges.h"
#include "shadow.h"

struct pc_access {
    struct pc_access_site *site;
    UInt thread; /* index */
    Bool stores;
    Bool guaranteed; /* what was there */
};

/* The order of a mapped file among those that the process mapped, from 1. */
UInt pc_file_index(UInt file);
/* A file of the data folder is mapped. */
void pc_file_mapped(ULong inode);

/* The running thread accesses a word. False: it is a load that the same thread has made at the same site,
 * with nothing in between that counts (another access to the word, an event that orders the thread). */
Bool pc_access_word(struct pc_shadow_page *page, UInt file, ULong offset, const struct pc_access *access);

#endif

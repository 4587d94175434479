/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which bytes of mapped files hold what is not guaranteed under px86 (docs/models.md, M1 to M4 and M6), and
 * who stored it. */
#ifndef POWERCUT_GRIND_RACE_SHADOW_H
#define POWERCUT_GRIND_RACE_SHADOW_H

#include "sites.h"

#define PC_SHADOW_PAGE 4096u
#define PC_LINE        64u

/* A store of which some bytes are neither guaranteed nor overwritten. */
struct pc_pending_store {
    ULong mask;    /* its bytes of the line that are the last stored there */
    UInt position; /* among the stores to the line, from 1 */
    UInt occurrence;
    struct pc_access_site *site;
    UInt thread; /* index */
};

struct pc_shadow_line {
    UInt stores;                      /* so far */
    UInt guaranteed;                  /* how many of them */
    struct pc_pending_store *pending; /* oldest first */
    UShort count, room;
};

struct pc_shadow_page {
    struct pc_shadow_page *next;
    UWord key;
    struct pc_shadow_line lines[PC_SHADOW_PAGE / PC_LINE];
    ULong words[PC_SHADOW_PAGE / 8];   /* the last access to each word: accesses.h */
    UInt stored[PC_SHADOW_PAGE / 8];   /* the site and thread of the last store there, 0: none */
    UShort shared[PC_SHADOW_PAGE / 8]; /* its place among the board's shared words, from 1; 0: it is none */
};

/* The page of a file that holds an offset. */
struct pc_shadow_page *pc_shadow_page(UInt file, ULong offset);

static inline struct pc_shadow_line *pc_shadow_line(struct pc_shadow_page *page, ULong offset) {
    return &page->lines[offset % PC_SHADOW_PAGE / PC_LINE];
}

/* The bytes [offset, offset + size), all in one line, as a mask of the line's. */
static inline ULong pc_line_mask(ULong offset, UInt size) {
    ULong bits = size >= PC_LINE ? ~0ull : (1ull << size) - 1;
    return bits << offset % PC_LINE;
}

/* Whether any of these bytes is not guaranteed. */
static inline Bool pc_is_pending(const struct pc_shadow_line *line, ULong mask) {
    for (UInt i = 0; i < line->count; i++)
        if ((line->pending[i].mask & mask) != 0)
            return True;
    return False;
}

/* The running thread has stored, flushed, fenced. */
void pc_shadow_store(struct pc_shadow_line *line, ULong mask, struct pc_access_site *site, UInt occurrence,
                     Bool nontemporal);
void pc_shadow_flush(struct pc_shadow_line *line, Bool at_once);
void pc_shadow_fence(void);
/* Bytes of a file were synced; length 0: all of it. */
void pc_shadow_sync(UInt file, ULong offset, ULong length);
/* A thread has ended: what it flushed without a fence stays pending for good. */
void pc_shadow_thread_ended(ThreadId tid);

#endif

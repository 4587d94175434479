/* A cache of items, for clients that come through a socket (after the memcached for persistent memory).
 *
 * The pool is a file that is mapped as it is. Each slab has a list of pages, which are cut into pieces of one
 * size; a piece in use is an item. Chains lead from the hash of a key to its item, and the items of a slab
 * are linked in the order in which they were used. This header says who does what.
 *
 *     cache FOLDER create           make the pool, with nothing in it
 *     cache FOLDER serve PORT       start, then answer clients until a signal comes
 *     cache FOLDER recover          start only
 *     cache FOLDER verify           start, then look whether all is as after a clean end
 *
 * To start is to check what a power cut has left, and to recover. */
#pragma once

#include "../../threads.h"
#include "../words.h"

#include <stdbool.h>
#include <stddef.h>

enum { PAGES = 5, PAGE = 2048, SLABS = 4, CHAINS = 16, NAME = 16 };

/* The states of a piece. A power cut may leave TAKEN and LEAVING: a chain leads to such a piece, and then it
 * stays, or none does, and then it is free. */
enum { FREE = 0, TAKEN, LINKED, LEAVING };

struct item {
    _Alignas(LINE) uint64_t state;
    uint64_t chain; /* the next item of its chain */
    uint64_t next,
        previous; /* in the list of its slab, the one used last in front; or in that of free pieces */
    _Alignas(LINE) uint64_t number; /* changes before `version` does */
    uint64_t version;
    uint64_t made_from; /* the version of what it is a copy of, or 0, */
    uint64_t bytes;
    char key[NAME], source[NAME]; /* and its key */
    _Alignas(LINE) char text[];   /* the key, again and again */
};

struct page {
    _Alignas(LINE) uint64_t slab;
    uint64_t older; /* the next page of its slab */
};

struct slab {
    _Alignas(LINE) uint64_t lock; /* of its list of pages, and of its lists of items and of free pieces */
    uint64_t newest;              /* page */
};

struct pool {
    struct slab slab[SLABS];
    _Alignas(LINE) uint64_t chain[CHAINS];
    _Alignas(PAGE) char page[PAGES][PAGE];
};

extern struct pool *pool;

static inline void *at(uint64_t offset) {
    return (char *)pool + offset;
}

static inline uint64_t offset_of(const void *object) {
    return (uint64_t)((const char *)object - (const char *)pool);
}

/* slabs.c: pages and pieces */

/* The slab of the smallest pieces with room for a text of so many bytes; SLABS: there is none. */
uint64_t slab_for(uint64_t bytes);
uint64_t room_of(uint64_t slab);

/* A piece that is nobody else's, of which a power cut leaves nothing; NULL: none can be had now. */
struct item *take_piece(uint64_t slab);

/* Give one back to which nothing leads any more. */
void give_piece(uint64_t slab, struct item *item);

/* An item is new, or was used: it is given up later than others. */
void used_last(uint64_t slab, struct item *item, bool is_new);

/* A piece has another state, and that is durable. */
void set_state(struct item *item, uint64_t state);

/* After a power cut: refuse damaged lists; then take over what they lead to, piece by piece. */
void check_pages(void);
void each_piece(void (*visit)(uint64_t slab, struct item *item));
bool is_piece(uint64_t offset);
void recover_pages(void);
void recover_piece(uint64_t slab, struct item *item, bool linked);
void check_slabs(void);

/* items.c: chains, and what clients want */

/* Nobody uses the item any more, if that can be had without waiting for others; the slab is locked. */
bool give_up_item(struct item *item);

/* Carry out a command; the answer is a line. */
void carry_out(char *command, char *answer, size_t size);

void check_items(void);
void recover_items(void);

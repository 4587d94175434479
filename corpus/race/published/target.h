/* What the programs of this folder share: a pool of libpmemobj, commands for threads, and how they are run.
 *
 *     PROGRAM FOLDER create      make the pool, with an empty map
 *     PROGRAM FOLDER             start, then carry out the commands of standard input: THREAD NAME KEY
 *     PROGRAM FOLDER recover     start only
 *     PROGRAM FOLDER verify      start, then look whether all is as after a clean end
 *
 * To start is to check what a power cut has left, and to recover. */
#pragma once

#include "../threads.h"
#include "words.h"

#include <libpmemobj.h>
#include <stdbool.h>

enum { MOST_KEY = 9999, KEY_BITS = 16 };

struct command {
    const char *name;
    void (*run)(unsigned thread, uint64_t key);
};

struct target {
    const char *layout;
    size_t root_size;
    void (*make)(void);
    void (*recover)(void);
    void (*check)(void);     /* before the recovery: refuses what is damaged */
    void (*recovered)(void); /* after it: for those who verify */
    struct command command[8];
};

extern PMEMobjpool *pool;
extern void *pool_root; /* starts at a cache line */

int run_target(int argc, char **argv, const struct target *target);

static inline void *at(uint64_t offset) {
    return (char *)pool + offset;
}

static inline uint64_t offset_of(const void *object) {
    return (uint64_t)((const char *)object - (const char *)pool);
}

/* The first cache line of an object of libpmemobj, whose own memory starts 16 bytes before one. */
static inline uint64_t aligned(uint64_t offset) {
    return (offset + LINE - 1) & -(uint64_t)LINE;
}

/* New memory of zeros that starts at a cache line; its type tells objects apart. */
uint64_t take(size_t size, uint64_t type);

/* Give it back. */
void give_back(uint64_t offset, uint64_t type);

/* The next object of a type after one, the first one after 0; 0: there are no more. */
uint64_t next_object(uint64_t offset, uint64_t type);

/* Whether an offset is that of an object of a type that is taken. */
bool is_taken(uint64_t offset, uint64_t type);

/* A value: the key that it was made for, and a stamp, newer than those of all values that were noted. */
uint64_t fresh_value(uint64_t key);
void note_value(uint64_t value);

static inline uint64_t key_of(uint64_t value) {
    return value & ((1 << KEY_BITS) - 1);
}

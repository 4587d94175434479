/* Which pages several threads write to.
 *
 * Threads are checked each for itself, so that one cannot tell whether another has written what it flushes.
 * Where that can be, a flush is not called needless. */
#ifndef POWERCUT_WRITERS_H
#define POWERCUT_WRITERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { WRITERS_SLOTS = 1 << 16 };

struct writers {
    _Atomic uint64_t slot[WRITERS_SLOTS]; /* page << 16 | thread, 0: free */
    _Atomic uint32_t used;
};

void writers_note(struct writers *writers, uint64_t page, uint32_t thread);
bool writers_include_others(struct writers *writers, uint64_t page,
                            uint32_t thread); /* also if it cannot be told */

#endif

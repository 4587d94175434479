/* What a call stack was made from: words of the target's memory, and registers.
 *
 * Before a capture: an empty list, put into the memory that is read (stacks/unwind/memory.h). After: as long
 * as all words hold the values listed, at the same program counter and stack pointer, the same stack would be
 * found. Words that were read but made no difference are not listed.
 */
#ifndef POWERCUT_STACKS_READS_H
#define POWERCUT_STACKS_READS_H

#include <stdbool.h>
#include <stdint.h>

#include "grind/channel.h"

struct pc_reads {
    struct pc_channel_word *words;
    int32_t count, room;
    bool uses_rbp; /* what rbp was at the start made a difference */
    bool lost;     /* something else did, or there was no room: the list does not hold */
};

static inline void pc_reads_add(struct pc_reads *reads, uint64_t address, uint64_t value) {
    if (!reads)
        return;
    if (reads->count == reads->room)
        reads->lost = true;
    else
        reads->words[reads->count++] = (struct pc_channel_word){address, value};
}

static inline void pc_reads_lost(struct pc_reads *reads) {
    if (reads)
        reads->lost = true;
}

#endif

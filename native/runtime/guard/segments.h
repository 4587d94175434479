/* The segments of a log that is written: room in them, and new ones.
 *
 * Before: pc_segments_open was successful. Any number of threads may take room at once; none waits for
 * another, but for the few that meet the end of a segment. */
#ifndef POWERCUT_GUARD_SEGMENTS_H
#define POWERCUT_GUARD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct pc_segment;

/* Begins with an empty segment of that number in a folder (a descriptor), and that number for the first
 * record; false: it cannot be, and why was said. */
bool pc_segments_open(int folder, uint64_t first, uint64_t sequence);
/* Nothing is taken any more: after fork, or when there is no memory. */
void pc_segments_leave(void);
bool pc_segments_are_open(void);

/* Waits until all that this thread has written is durable, and the names of the segments. */
void pc_segments_sync(void);

/* So many numbers that follow each other, the first of them: for records that have room already, so that none
 * of a later segment is smaller than what the segment's head says. */
uint64_t pc_segments_number(uint64_t count);

/* Room for whole lines; NULL: there is none. `of` gets the segment, to be given back with the bytes when they
 * are written: it then may leave memory. */
char *pc_segment_take(uint64_t bytes, struct pc_segment **of);
/* From which checksums of its records start. */
uint32_t pc_segment_salt(const struct pc_segment *segment);
void pc_segment_give_back(struct pc_segment *segment, uint64_t bytes);

#endif

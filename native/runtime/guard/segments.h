/* The segments of a log that is written: room in them, and new ones.
 *
 * Before: pc_segments_open was successful. Any number of threads may take room at once; none waits for
 * another, but for the few that meet the end of a segment. */
#ifndef POWERCUT_GUARD_SEGMENTS_H
#define POWERCUT_GUARD_SEGMENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins with an empty segment of that number in a folder (a descriptor), and no lower number for the first
 * record; false: it cannot be, and why was said. */
bool pc_segments_open(int folder, uint64_t first, uint64_t sequence);
/* Nothing is taken any more: after fork, or when there is no memory. */
void pc_segments_leave(void);
bool pc_segments_are_open(void);

/* Waits until all that this thread has written is durable, and the names of the segments. */
void pc_segments_sync(void);

/* A thread that writes. */
struct pc_writer;
struct pc_writer *pc_writer_begin(void); /* NULL: there is no memory */
void pc_writer_end(struct pc_writer *writer);

/* Room for whole lines, with as many sequence numbers as it has words: the later it is taken, the higher. */
struct pc_room {
    char *at;
    uint64_t sequence;
    uint32_t salt; /* from which checksums of records there start */
};

/* False: there is none. The segment stays in memory until the writer is done with it; before that it takes
 * nothing else. */
bool pc_room_take(struct pc_writer *writer, uint64_t bytes, struct pc_room *room);
/* What was streamed is visible to all: this is a fence. */
void pc_room_done(struct pc_writer *writer);

#endif

/* Saved traces: everything that was recorded, to be checked again under another model.
 *
 *   "PCUTTRC1"                                            then chunks:
 *   { u32 ring, u32 owner, u32 count, u32 0 } count * { u64 word, u64 address }     words as in channel.h,
 * without laps { u32 ~0, u32 sites, u32 bytes, u32 0 } sites * { u32 file, function, line, 0; u64 offset }
 * and the strings; at the end
 *
 * A trace that is read is not believed: numbers out of range end the reading. */
#ifndef POWERCUT_TRACE_FILE_H
#define POWERCUT_TRACE_FILE_H

#include "../channel.h"

#include <pthread.h>
#include <stdio.h>

struct trace_file {
    FILE *file;
    pthread_mutex_t lock;
    bool failed;
    int reason; /* errno, of the first failure */
};

bool trace_create(struct trace_file *trace, const char *path);
void trace_add(struct trace_file *trace, unsigned ring, uint32_t owner, const struct record *records,
               uint64_t from, uint64_t count, uint32_t buffer);
bool trace_finish(struct trace_file *trace,
                  struct channel *channel); /* false: not all of it could be written */

/* Check a saved trace; its places and findings go into a new channel. NULL, or what is wrong with the trace.
 */
const char *trace_check(const char *path, struct channel *channel);

#endif

/* Messages of runtimes inside the program (told_format.h), which they write to a descriptor that does not
 * exist.
 *
 * Before: a thread at the entry of a followed call. After pc_telling_entry: false, and nothing has happened;
 * or true, the message is taken, and `*result` is what the call shall return without being made. */
#ifndef POWERCUT_TELLING_H
#define POWERCUT_TELLING_H

#include "thread.h"
#include "trace/recorder.h"

bool pc_telling_entry(struct pc_recorder *recorder, struct pc_thread *thread, int64_t *result);

#endif

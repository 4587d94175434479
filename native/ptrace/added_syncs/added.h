/* Syncs that a program does not call and that its trace gets all the same: a fix, tried for real.
 *
 * Before: a plan, a text file in which each sync is some lines:
 *
 *   sync WHAT
 *   of STACK KIND    (one or more)
 *   at STACK KIND    (none or more)
 *
 * WHAT is file (fsync), data (fdatasync), directory (fsync of the folder in which a name was changed) or
 * lines (a flush of each line, and a fence). STACK is the name of a call stack (stacks/stable_name.h, in
 * hexadecimal), KIND the number of an event's kind. What an event at one of the `of` changes is due from then
 * on. The due syncs belong in front of the next event at one of the `at`; if there is no `at`, right behind
 * each at `of`.
 *
 * After: in front of each event at AT that finds something due, the trace holds its syncs, marked
 * PC_FLAG_ADDED, with the thread and the stack of that event. What is due is one for all threads; the order
 * of the trace decides. The program itself sees nothing of it, and nothing is synced really: what counts is
 * the order of events. */
#ifndef POWERCUT_ADDED_SYNCS_ADDED_H
#define POWERCUT_ADDED_SYNCS_ADDED_H

#include <stddef.h>
#include <stdint.h>

#include "trace/recorder.h"
#include "trace_format.h"

struct pc_added;

/* Reads a plan; NULL on failure, with the reason in `error`. */
struct pc_added *pc_added_open(const char *path, char *error, size_t size);
void pc_added_free(struct pc_added *added);

/* In front of an event that is about to be written, and right behind it. */
void pc_added_before(struct pc_added *added, struct pc_recorder *recorder, const struct pc_event *event);
void pc_added_behind(struct pc_added *added, struct pc_recorder *recorder, const struct pc_event *event);

/* Looks at memory records of a process, whose thread is `tid` until a record names another; how many of them
 * can be written until pc_added_put must be called. It may be none: then the first is looked at again. */
uint64_t pc_added_scan(struct pc_added *added, struct pc_recorder *recorder, uint32_t pid, uint32_t tid,
                       const struct pc_memory *records, uint64_t count);

/* Writes the syncs that the last scan stopped for. */
void pc_added_put(struct pc_added *added, struct pc_recorder *recorder);

#endif

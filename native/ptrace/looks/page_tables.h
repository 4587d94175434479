/* What the page tables of a process say about the data files that it has mapped. */
#ifndef POWERCUT_LOOKS_PAGE_TABLES_H
#define POWERCUT_LOOKS_PAGE_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/recorder.h"

/* Whether the kernel leaves pages of files in this folder in page tables once they are there, and tells which
 * they are. */
bool pc_pages_stay(const char *dir);

/* Writes a PC_LOOK_PAGES for each run of pages of files of the data folder that stand in the page tables of a
 * process. False: they could not be told. */
bool pc_pages_write(struct pc_recorder *recorder, pid_t tgid);

/* How many pages of its kind the kernel has looked at since it was started, for want of memory. While this
 * stays the same, it took none from a process. False: it does not tell. */
bool pc_pages_scanned(uint64_t *scanned);

/* The process that a thread belongs to, and how many threads that has; false if it is not known. */
bool pc_process_of(pid_t tid, pid_t *tgid, unsigned *threads);

#endif

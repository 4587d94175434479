/* What is due to be synced (added_syncs/added.h), and how lines of mapped files are: by records of their own.
 *
 * Zeroed structs are empty. Without memory something is not kept, and not synced. */
#ifndef POWERCUT_ADDED_SYNCS_DUE_H
#define POWERCUT_ADDED_SYNCS_DUE_H

#include <stddef.h>
#include <stdint.h>

#include "number_set.h"
#include "trace/recorder.h"
#include "trace_format.h"

/* A file or folder, or with a process and the number it gave the file, a line of one. */
struct pc_due_thing {
    uint64_t inode;
    uint64_t offset; /* anywhere in the line */
    uint32_t pid;
    uint16_t file;
};

struct pc_due {
    struct pc_due_thing *things;
    size_t count, room;
    struct pc_number_set known; /* hashes of what `things` holds */
};

void pc_due_add(struct pc_due *due, const struct pc_due_thing *thing);
/* A file or folder is not due any more, if it was. */
void pc_due_forget(struct pc_due *due, uint64_t inode);
void pc_due_free(struct pc_due *due);

/* Which inodes the numbers of files in memory records mean. */
struct pc_mapped_file {
    uint32_t pid;
    uint16_t file;
    uint64_t inode;
};

struct pc_mapped_files {
    struct pc_mapped_file *items;
    size_t count, room;
};

void pc_mapped_files_set(struct pc_mapped_files *files, uint32_t pid, uint16_t file, uint64_t inode);
uint64_t pc_mapped_files_get(const struct pc_mapped_files *files, uint32_t pid, uint16_t file);
void pc_mapped_files_free(struct pc_mapped_files *files);

/* Writes a run that flushes all lines that are due, and a fence, by the thread and with the stack of `where`.
 */
void pc_due_flush(const struct pc_due *due, const struct pc_mapped_files *files, struct pc_recorder *recorder,
                  const struct pc_event *where);

#endif

/* Writes one trace file (trace_format.h), so that whatever kills the tracer a readable prefix remains.
 *
 * Before: pc_writer_open gave a writer. After each call: the records handed over are whole in the file, or
 * pc_writer_error is not 0 and nothing more will be written (a full disk is such an error, never a signal:
 * room is reserved before it is mapped). Ids and offsets returned after an error are 0.
 * One thread only. */
#ifndef POWERCUT_TRACE_WRITER_H
#define POWERCUT_TRACE_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "trace_format.h"

struct pc_writer;

/* Makes or empties `path`. NULL on failure, with the reason in `error`. */
struct pc_writer *pc_writer_open(const char *path, char *error, size_t size);

/* Copies `length` bytes into the trace; returns their file offset (a multiple of 8). */
uint64_t pc_writer_blob(struct pc_writer *writer, const void *data, uint64_t length);

/* The same for many bytes, which get an extent of their own and are handed to the kernel as they are. If the
 * disk is full before the end, *length becomes what was written, a multiple of `unit`. */
uint64_t pc_writer_bulk(struct pc_writer *writer, const void *data, uint64_t *length, uint64_t unit);

/* Reserves `length` bytes to be filled in place; NULL on failure. Nothing else may be written until
 * pc_writer_blob_commit says how many of them hold. Not committing gives them back. */
void *pc_writer_blob_begin(struct pc_writer *writer, uint64_t length, uint64_t *offset);
void pc_writer_blob_commit(struct pc_writer *writer, uint64_t length);

/* Appends a table entry with its bytes; returns its new id, counted from 1 within `table_kind`. */
uint32_t pc_writer_entry(struct pc_writer *writer, uint32_t table_kind, const void *data, uint64_t length,
                         uint64_t extra);

/* The PC_TABLE_STRING id of these bytes, the same id for the same bytes. */
uint32_t pc_writer_string(struct pc_writer *writer, const char *bytes, size_t length);

/* The bytes behind such an id, with a NUL at their end; NULL if there is none. They live as long as the
 * writer.
 */
const char *pc_writer_text(const struct pc_writer *writer, uint32_t id);

void pc_writer_event(struct pc_writer *writer, const struct pc_event *event);

/* 0, or the errno of the first failure. */
int pc_writer_error(const struct pc_writer *writer);

/* Cuts the file to what is used and frees the writer; returns pc_writer_error as it was then. */
int pc_writer_close(struct pc_writer *writer);

#endif

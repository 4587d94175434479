/* Byte strings that are written to the trace once: stacks and code objects.
 *
 * Before: a writer. After pc_intern_id: the id of a table entry with exactly these bytes, written now or
 * earlier.
 */
#ifndef POWERCUT_STACKS_INTERN_H
#define POWERCUT_STACKS_INTERN_H

#include <stdint.h>

struct pc_writer;
struct pc_intern;

struct pc_intern *pc_intern_new(struct pc_writer *writer, uint32_t table_kind);
uint32_t pc_intern_id(struct pc_intern *intern, const void *data, uint64_t length);
void pc_intern_free(struct pc_intern *intern);

#endif

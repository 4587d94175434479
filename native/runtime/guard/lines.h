/* Cache lines that a program built by `powercut cc` flushes by instructions of its own (join.h). */
#ifndef POWERCUT_GUARD_LINES_H
#define POWERCUT_GUARD_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* A guarded mapping comes, or goes. */
void pc_lines_mapped(const void *address, size_t size, bool is_mapped);

/* Something was logged in another way: what is known of lines may be out of date. */
void pc_lines_forget(void);

#endif

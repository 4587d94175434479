/* Memory that a thread has for itself. It is not on the thread's stack, of which a program may have little.
 */
#ifndef POWERCUT_GUARD_MEMORY_H
#define POWERCUT_GUARD_MEMORY_H

#include <stddef.h>

/* Zeroed, given back when the thread ends: then `at_end` is called, if there is one, and `owner`, a variable
 * of the thread, is NULL again. NULL: there is none. */
void *pc_thread_memory(size_t size, void **owner, void (*at_end)(void));

#endif

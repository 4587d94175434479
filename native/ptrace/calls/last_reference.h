/* Whether closing a descriptor closes the file: others may share its open file, by dup or by fork. */
#ifndef POWERCUT_CALLS_LAST_REFERENCE_H
#define POWERCUT_CALLS_LAST_REFERENCE_H

#include "threads.h"

/* True if no other descriptor of the traced processes shares the open file behind the thread's `fd`; also
 * where the kernel cannot tell. */
bool pc_last_reference(const struct pc_threads *threads, const struct pc_thread *thread, int fd);

#endif

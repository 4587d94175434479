/* Finds the PyThreadState of a stopped thread.
 *
 * Before: known offsets of the interpreter. After: the address of the thread's current Python frame (0: it
 * runs no Python code), or false if the thread is not one of the interpreter's.
 */
#ifndef POWERCUT_STACKS_PYTHON_THREAD_STATE_H
#define POWERCUT_STACKS_PYTHON_THREAD_STATE_H

#include "stacks/python/frames.h"

/* What is remembered of the thread, or NULL. */
struct pc_pythread *pc_pythread_known(struct pc_pyprocess *process, pid_t tid);

bool pc_pythread_frame(struct pc_pyprocess *process, const struct pc_pycontext *context, uint64_t *frame);

#endif

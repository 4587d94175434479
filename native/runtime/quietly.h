/* Locks and steps that a signal's handler must not find half done: no signal is delivered to the thread while
 * it is in one. Each costs two system calls, so nothing that happens for every record is among them. */
#ifndef POWERCUT_QUIETLY_H
#define POWERCUT_QUIETLY_H

#include <pthread.h>
#include <signal.h>

struct quiet {
    sigset_t before;
};
struct quiet hush(void);
void unhush(const struct quiet *quiet);
struct quiet lock_quietly(pthread_mutex_t *lock);
void unlock_quietly(pthread_mutex_t *lock, const struct quiet *quiet);

#endif

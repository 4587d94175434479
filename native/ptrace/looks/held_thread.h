/* Holding a thread at the end of a call of its own, and having it make calls for us.
 *
 * The filter lets calls of ours through: the sixth argument, which they have no use for, is a secret. */
#ifndef POWERCUT_LOOKS_HELD_THREAD_H
#define POWERCUT_LOOKS_HELD_THREAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A thread that is held, or was until it ended. */
struct pc_grip {
    pid_t tid;
    bool ended;
    int status; /* of one that has ended, as wait tells it */
};

/* Before the call that a thread waits with goes on: it will be held when it is done. False: it cannot be. */
bool pc_hold(struct pc_grip *grip, pid_t tid);

/* After: waits until the thread is held; what its call returned. False: it is not held any more. */
bool pc_held(struct pc_grip *grip, int64_t *result);

/* A call by a held thread, which is afterwards as it was before; what it returned, or -errno. */
int64_t pc_have_called(struct pc_grip *grip, uint64_t secret, int64_t number, uint64_t argument);

/* Lets a held thread go on. */
void pc_release(struct pc_grip *grip);

#endif

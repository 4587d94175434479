/* Starting a program and waiting for its end: what plain checks and forked ones share. */
#ifndef POWERCUT_SPAWN_H
#define POWERCUT_SPAWN_H

#include "engine.h"

#include <stdbool.h>
#include <sys/types.h>

struct pc_launch {
    const char *path;
    char **argv;
    char **env;
    const char *cwd;
    int input;
    int output;
    bool traced; /* by us, from its first instruction on */
    int error;   /* errno of the step that failed in the child, 0 when the program started */
};

/* Starts the program in a new process group; its process, or -1 with errno. */
pid_t pc_launch_start(struct pc_launch *launch);

/* What both functions of Python get: path, argv, env, cwd, input, output; false with an exception. The
 * vectors live as long as the lists, and are given back by pc_launch_free. */
bool pc_launch_take(struct pc_launch *launch, PyObject *argv, PyObject *env);
void pc_launch_free(struct pc_launch *launch);

/* A child that was started at `begun`: waits for its end with a limit, ends all that is left of it, and says
 * how it was: (kind, code, seconds, output). NULL with an exception when it was interrupted or something of
 * it would not die. `error`: why it could not start, known when it has ended. */
PyObject *pc_see_to_its_end(pid_t child, double begun, double timeout, int output, const int *error,
                            PyObject *tick);

/* Seconds of the clock that only goes forward. */
double pc_now(void);

#endif

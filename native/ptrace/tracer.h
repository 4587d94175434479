/* The ptrace event loop: follows a process and all it starts until the last of them has ended. */
#ifndef POWERCUT_TRACER_H
#define POWERCUT_TRACER_H

#include <sys/types.h>

#include "trace/recorder.h"

enum pc_run_end {
    PC_RUN_ENDED,       /* the program ran to its end */
    PC_RUN_INTERRUPTED, /* SIGINT or SIGTERM to the tracer: everything was killed */
    PC_RUN_STUCK,       /* layers cannot do what the data folder itself can: everything was killed */
    PC_RUN_MAPPED, /* it mapped a data file for writing, and was to be stopped there: everything was killed */
    PC_RUN_WRITER, /* the trace could not be written on: everything was killed */
};

struct pc_run {
    enum pc_run_end end;
    int status; /* wait status of the first process, -1: not known */
};

/* Starts to trace `pid`, which must not run yet to where it matters; 0 or errno. */
int pc_tracer_seize(pid_t pid);

/* Follows `first`, already seized, and all it starts. */
struct pc_run pc_tracer_run(struct pc_recorder *recorder, pid_t first);

#endif

/* What Valgrind itself says: it goes into a file in memory instead of the program's output, and from there
 * into the trace, as notes for the user. */
#ifndef POWERCUT_VALGRIND_LOG_H
#define POWERCUT_VALGRIND_LOG_H

#include <stdbool.h>

#include "trace/recorder.h"

struct pc_grind_log {
    int file; /* inherited by Valgrind, which writes to it */
};

bool pc_grind_log_open(struct pc_grind_log *log);
void pc_grind_log_close(struct pc_grind_log *log);

/* Makes notes of what was said since the last time. */
void pc_grind_log_tell(struct pc_grind_log *log, struct pc_recorder *recorder);

#endif

/* The data folder as it is before the program starts. */
#ifndef POWERCUT_TRACE_SNAPSHOT_H
#define POWERCUT_TRACE_SNAPSHOT_H

#include "trace/recorder.h"

/* Writes PC_SNAP_* events for the whole data folder, parents before children, names sorted, and fills
 * recorder->inodes. Files that cannot be read give a note. Returns 0 or errno. */
int pc_snapshot(struct pc_recorder *recorder);

#endif

/* Moves and links across the border of the data folder that only the private view forbids: see border.c. */
#ifndef POWERCUT_CALLS_BORDER_H
#define POWERCUT_CALLS_BORDER_H

#include "calls/calls.h"

/* Does a rename or link (`keep`: the old name stays) that failed with EXDEV in the program's place. */
bool pc_border_carry(struct pc_recorder *recorder, struct pc_thread *thread, bool keep);

/* A file outside was synced, as it is; or everything was. */
void pc_border_synced(struct pc_recorder *recorder, const struct stat *status);
void pc_border_all_synced(struct pc_recorder *recorder);

/* Whether a file outside was synced since it was last written. */
bool pc_border_is_synced(const struct pc_recorder *recorder, const struct stat *status);

#endif

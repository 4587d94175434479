/* Checking a store after a crash. */
#pragma once

#include "store.h"

/* Recovers the store and compares it with what the workload had made of it; ends the process with status 1 if
 * anything is wrong. `acknowledged` names the file that holds what the run had printed. */
void verify(const char *path, const char *acknowledged, const struct store_options *options);

/* Where the guard of a program begins. */
#ifndef POWERCUT_GUARD_START_H
#define POWERCUT_GUARD_START_H

#include <stdbool.h>

/* Whether what happens now goes into the log; the first time that is asked, it is opened. */
bool pc_guard_begins(void);

#endif

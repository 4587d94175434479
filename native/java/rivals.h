/* Other agents of the same JVM. Some capabilities (breakpoints) only one agent can have, and a debugger that
 * does not get them ends the JVM. */
#ifndef POWERCUT_JAVA_RIVALS_H
#define POWERCUT_JAVA_RIVALS_H

#include <stdbool.h>

/* Whether the command line, a file of arguments or a variable names a native agent besides this one. */
bool pc_java_has_rivals(void);

#endif

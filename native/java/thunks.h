/* See thunks.S. */
#ifndef POWERCUT_JAVA_THUNKS_H
#define POWERCUT_JAVA_THUNKS_H

#define PC_JAVA_THUNKS     1024
#define PC_JAVA_THUNK_SIZE 16 /* bytes */

#endif

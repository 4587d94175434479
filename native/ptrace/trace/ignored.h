/* Names in the data folder that are no data: what tools make anew, and what belongs to them. */
#ifndef POWERCUT_TRACE_IGNORED_H
#define POWERCUT_TRACE_IGNORED_H

#include <limits.h>
#include <stdbool.h>

#include "number_set.h"

enum { PC_PATTERNS = 256 };

struct pc_ignored {
    const char
        *patterns[PC_PATTERNS]; /* as fnmatch has them; with a slash, of whole paths below the folder */
    unsigned count;
    struct pc_number_set seen; /* hashes of the paths that the program was about to change */
    char first[PATH_MAX];      /* the first of them */
};

/* False when there are too many. */
bool pc_ignored_add(struct pc_ignored *ignored, const char *pattern);

/* Whether a path below the data folder, or a folder above it, is ignored. `ignored` may be NULL. */
bool pc_ignores(const struct pc_ignored *ignored, const char *path);

/* The same for a path that the program is about to change: it is counted. */
bool pc_is_ignored(struct pc_ignored *ignored, const char *path);

#endif

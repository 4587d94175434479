/* Before: patterns, mostly plain names. After each question: nothing changed but the count of what was
 * ignored. */
#define _GNU_SOURCE
#include "trace/ignored.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

bool pc_ignored_add(struct pc_ignored *ignored, const char *pattern) {
    if (ignored->count == PC_PATTERNS)
        return false;
    ignored->patterns[ignored->count++] = pattern;
    return true;
}

/* Whether a name in the folder fits; `whole` is its path, both end here. */
static bool fits(const struct pc_ignored *ignored, const char *whole, const char *name) {
    for (unsigned i = 0; i < ignored->count; i++) {
        const char *pattern = ignored->patterns[i];
        if (fnmatch(pattern, strchr(pattern, '/') != NULL ? whole : name, 0) == 0)
            return true;
    }
    return false;
}

static void count(struct pc_ignored *ignored, const char *path) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (const char *letter = path; *letter != '\0'; letter++)
        hash = (hash ^ (unsigned char)*letter) * 1099511628211u;
    if (ignored->seen.count == 0)
        snprintf(ignored->first, sizeof(ignored->first), "%s", path);
    pc_number_set_add(&ignored->seen, hash | 1);
}

bool pc_ignores(const struct pc_ignored *ignored, const char *path) {
    char whole[PATH_MAX];
    const char *name = path;
    if (ignored == NULL || ignored->count == 0 || strlen(path) >= sizeof(whole))
        return false;
    while (*name != '\0') {
        const char *end = strchrnul(name, '/');
        memcpy(whole, path, (size_t)(end - path));
        whole[end - path] = '\0';
        if (fits(ignored, whole, whole + (name - path)))
            return true;
        name = *end == '\0' ? end : end + 1;
    }
    return false;
}

bool pc_is_ignored(struct pc_ignored *ignored, const char *path) {
    bool found = pc_ignores(ignored, path);
    if (found)
        count(ignored, path);
    return found;
}

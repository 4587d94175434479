/* What the C and C++ programs of this folder share: files, words to the outside, and which mistakes are mended. Nothing
 * here writes or syncs, but pm.h, which has flushes and fences. */
#ifndef SEVERAL_H
#define SEVERAL_H

#include "../memory/pm.h"

/* Whether MEND names a mistake. */
static inline int mended(char letter) {
    const char *letters = getenv("MEND");
    return letters != NULL && strchr(letters, letter) != NULL;
}

/* A check's way to read a file of the current folder: its length, -1 if it is not there; zeros behind it. */
static inline long content(const char *name, char *bytes, size_t size) {
    memset(bytes, 0, size);
    int fd = open(name, O_RDONLY);
    long length = fd < 0 ? -1 : read(fd, bytes, size);
    if (fd >= 0)
        close(fd);
    return length;
}

/* Whether a file of the current folder holds just this text. */
static inline int holds(const char *name, const char *text) {
    char bytes[20000];
    long length = content(name, bytes, sizeof bytes);
    return length == (long)strlen(text) && memcmp(bytes, text, (size_t)length) == 0;
}

#endif

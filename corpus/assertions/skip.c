#include "skip.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 256 };

static const char *places[MOST];
static int count;

void skip(const char *place) {
    if (count < MOST)
        places[count++] = place;
}

bool is_skipped(const char *file, int line) {
    char place[256];
    const char *folder = strrchr(file, '/');
    if (!count)
        return false;
    snprintf(place, sizeof place, "%s:%d", folder ? folder + 1 : file, line);
    for (int i = 0; i < count; i++)
        if (strcmp(places[i], place) == 0)
            return true;
    return false;
}

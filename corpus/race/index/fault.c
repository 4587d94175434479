/* Mistakes on purpose: which one is chosen. */
#include "fault.h"

#include <stddef.h>
#include <string.h>

static const char *const names[BUG_COUNT] = {
    [BUG_NONE] = "none",
    [BUG_TABLE_POINTER] = "table-pointer",
    [BUG_SIBLING] = "sibling",
    [BUG_VALUE] = "value",
    [BUG_CAPACITY] = "capacity",
    [BUG_SEPARATOR] = "separator",
    [BUG_LOCKS_KEPT] = "locks-kept",
    [BUG_LOCK_HELD] = "lock-held",
};

static enum bug chosen = BUG_NONE;

bool has_bug(enum bug bug) {
    return chosen == bug;
}

bool choose_bug(const char *name) {
    for (int index = 0; index < BUG_COUNT; index++)
        if (strcmp(names[index], name) == 0) {
            chosen = (enum bug)index;
            return true;
        }
    return false;
}

const char *bug_name(int index) {
    return index + 1 < BUG_COUNT ? names[index + 1] : NULL;
}

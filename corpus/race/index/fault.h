/* Mistakes on purpose, one at a time, chosen by name. Without one the program is correct. */
#pragma once

#include <stdbool.h>

enum bug {
    BUG_NONE,
    BUG_TABLE_POINTER, /* inter-thread: insert through a table pointer that is not durable */
    BUG_SIBLING,       /* inter-thread: insert through a sibling pointer that is not durable */
    BUG_VALUE,         /* inter-thread: copy a value that is not durable */
    BUG_CAPACITY,      /* intra-thread: store a capacity made of a size that is not durable */
    BUG_SEPARATOR,     /* intra-thread: lead a parent to a node by a link that is not durable */
    BUG_LOCKS_KEPT,    /* synchronization: locks stay taken after a power cut */
    BUG_LOCK_HELD,     /* of threads alone: a lock that one way out does not release */
    BUG_COUNT,
};

bool has_bug(enum bug bug);

/* Whether there is such a mistake; then it is made from now on. */
bool choose_bug(const char *name);

/* The names, one after the other, NULL at the end. */
const char *bug_name(int index);

/* Where a program built by `powercut cc` and the guard in front of it meet. The program's side looks for
 * pc_guard_join by name when it is loaded: there is one only under `powercut guard`. */
#ifndef POWERCUT_GUARD_JOIN_H
#define POWERCUT_GUARD_JOIN_H

#include <stddef.h>

#define PC_GUARD_JOIN "pc_guard_join"

/* What the guard wants to be told, by the thread that does it, before the instruction itself is executed. */
struct pc_guard_ear {
    /* A range was flushed, or stored around the cache, and a fence follows; `site`: behind the instruction's
     * line. */
    void (*flushed)(const void *address, size_t size, const void *site);
    /* All that comes before the fence has been told. */
    void (*fenced)(void);
};

/* What the program's side wants to be told: a guarded mapping comes, or goes. */
typedef void (*pc_guard_watch)(const void *address, size_t size, int is_mapped);

/* NULL: too many parts of the program have joined. */
typedef const struct pc_guard_ear *(*pc_guard_join_function)(pc_guard_watch watch);

#endif

/* Keeping the kernel from entering neighbours of a page that is touched into page tables.
 *
 * It enters 16 pages at once, which may be all of a file, but not where a userfaultfd watches for writes. So
 * a process is made to create one, which we take and never ask anything. Where that fails, neighbours are
 * entered: more counts as read than was. */
#ifndef POWERCUT_LOOKS_LONE_PAGES_H
#define POWERCUT_LOOKS_LONE_PAGES_H

#include <stdint.h>

#include "looks/held_thread.h"
#include "thread.h"

struct pc_lone_pages {
    uint64_t secret; /* see looks/held_thread.h */
    int userfault;   /* of the process `tgid`, -1: none */
    pid_t tgid;
};

/* For a mapping that a held thread of a process has just made. */
void pc_lone_pages_set(struct pc_lone_pages *lone, struct pc_grip *grip, struct pc_thread *thread, pid_t tgid,
                       uint64_t start, uint64_t length);
void pc_lone_pages_end(struct pc_lone_pages *lone);

#endif

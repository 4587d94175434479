/* The userfaultfd is of the process, and we hold the only descriptor of it: the process is not to find one
 * more than it opened. */
#define _GNU_SOURCE
#include "looks/lone_pages.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "remote/remote.h"

/* Names that older headers lack. */
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#define WRITES_NOT_TOLD (1u << 15) /* UFFD_FEATURE_WP_ASYNC, 6.7 */

static bool take_userfault(struct pc_lone_pages *lone, struct pc_grip *grip, struct pc_thread *thread) {
    struct uffdio_api api = {.api = UFFD_API, .features = WRITES_NOT_TOLD};
    pc_lone_pages_end(lone);
    int64_t fd = pc_have_called(grip, lone->secret, SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
    if (fd < 0)
        return false;
    lone->userfault = pc_dup_remote(thread, (int)fd);
    (void)pc_have_called(grip, lone->secret, SYS_close, (uint64_t)fd);
    return lone->userfault >= 0 && ioctl(lone->userfault, UFFDIO_API, &api) == 0;
}

void pc_lone_pages_set(struct pc_lone_pages *lone, struct pc_grip *grip, struct pc_thread *thread, pid_t tgid,
                       uint64_t start, uint64_t length) {
    struct uffdio_register range = {
        .range = {.start = start, .len = length},
        .mode = UFFDIO_REGISTER_MODE_WP,
    };
    bool there = lone->userfault >= 0 && lone->tgid == tgid;
    if (there && ioctl(lone->userfault, UFFDIO_REGISTER, &range) == 0)
        return; /* otherwise it may be for the memory that the process had before it executed something */
    lone->tgid = tgid;
    if (take_userfault(lone, grip, thread))
        (void)ioctl(lone->userfault, UFFDIO_REGISTER, &range);
}

void pc_lone_pages_end(struct pc_lone_pages *lone) {
    if (lone->userfault >= 0)
        close(lone->userfault);
    lone->userfault = -1;
}

/* A private view of the file system, in which one folder shows the content of another.
 * Stands alone: it is also linked into the Python extension. */
#ifndef POWERCUT_VIEW_H
#define POWERCUT_VIEW_H

#include <stddef.h>

/* Moves the calling process into a mount namespace of its own and binds `source` over `target` there. What is
 * mounted or unmounted on the machine from then on is so in the view, too (unless its mounts are private);
 * what is mounted in the view is never seen outside. Mounts over `target` come below the bind, but those over
 * a folder above hide it. `source` and `target` must exist, both folders. The process must have one thread.
 * Without privilege a user namespace is made too, with the same user and group ids. Open descriptors and the
 * current folder keep pointing where they pointed: chdir again to enter the view. Returns 0, or -errno with
 * the reason in `error`. */
int pc_enter_view(const char *source, const char *target, char *error, size_t error_size);

#endif

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

/* How an overlay tells one file from another, best first. Each is what the kernel and the privilege allow. */
enum pc_layers {
    PC_LAYERS_LINKS = 1, /* files with several names stay one file when they are changed */
    PC_LAYERS_PLAIN = 2, /* ... they do not */
    PC_LAYERS_USER = 3,  /* without privilege: nor can folders of the lower layer be renamed */
};

/* Mounts an overlay at `target`: what `lower` holds, and what is changed goes to `upper`, with `work` beside
 * it on the same file system. Numbers of files are the same before and after a change. `target` may be
 * `lower`. In the caller's mount namespace, which must be its own. Returns an enum pc_layers, or -errno with
 * the reason in `error`. */
int pc_mount_layers(const char *lower, const char *upper, const char *work, const char *target, char *error,
                    size_t error_size);

/* pc_enter_view, with such an overlay in the place of the bind: `target` is its lower layer, too. */
int pc_enter_layers(const char *upper, const char *work, const char *target, char *error, size_t error_size);

#endif

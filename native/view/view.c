/* Before: a process of one thread that sees the machine's mounts. After success: it and its children see
 * `source`, or an overlay, at `target`, and nobody else does. After failure the process may be in namespaces
 * of its own that show the same files as before: harmless, but not worth trying again. */
#define _GNU_SOURCE
#include "view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static int fail(const char *what, char *error, size_t error_size) {
    int code = errno;
    snprintf(error, error_size, "%s: %s", what, strerror(code));
    return -code;
}

static int put(const char *path, const char *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    ssize_t written = write(file, text, strlen(text));
    int code = errno;
    close(file);
    errno = code;
    return written == (ssize_t)strlen(text) ? 0 : -1;
}

/* A user namespace in which every id this process has means the same as outside. */
static int enter_user_namespace(char *error, size_t error_size) {
    unsigned uid = geteuid(), gid = getegid();
    char map[64];
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
        return fail("cannot make a private mount namespace (neither root nor user namespaces)", error,
                    error_size);
    /* A kernel without this file does not ask for it. */
    if (put("/proc/self/setgroups", "deny") != 0 && errno != ENOENT)
        return fail("cannot write /proc/self/setgroups", error, error_size);
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    if (put("/proc/self/uid_map", map) != 0)
        return fail("cannot write /proc/self/uid_map", error, error_size);
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    if (put("/proc/self/gid_map", map) != 0)
        return fail("cannot write /proc/self/gid_map", error, error_size);
    return 0;
}

/* A mount namespace of one's own, whose mounts the machine does not see. */
static int enter_namespace(char *error, size_t error_size) {
    if (unshare(CLONE_NEWNS) != 0) {
        if (errno != EPERM)
            return fail("cannot make a private mount namespace", error, error_size);
        int result = enter_user_namespace(error, error_size);
        if (result != 0)
            return result;
    }
    /* Slaves of the machine's mounts: the mounts below are not passed on to the machine, while what is
     * unmounted there goes here, too. Private ones would keep every file system of the machine in use until
     * we end. */
    if (mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return fail("cannot separate the mounts from the machine's", error, error_size);
    return 0;
}

int pc_enter_view(const char *source, const char *target, char *error, size_t error_size) {
    int result = enter_namespace(error, error_size);
    if (result != 0)
        return result;
    if (mount(source, target, NULL, MS_BIND | MS_REC, NULL) != 0) {
        int code = errno;
        snprintf(error, error_size, "cannot bind %s over %s: %s", source, target, strerror(code));
        return -code;
    }
    return 0;
}

/* Layers are named by descriptors: a path may hold what separates options. */
static int mount_overlay(const int *layers, const char *target) {
    static const char *const kinds[] = {"xino=on,index=on,redirect_dir=on",
                                        "xino=on,index=off,redirect_dir=on", "xino=on,userxattr"};
    char options[256];
    int code = 0;
    for (int kind = 0; kind < 3; kind++) {
        snprintf(options, sizeof(options),
                 "lowerdir=/proc/self/fd/%d,upperdir=/proc/self/fd/%d,workdir=/proc/self/fd/%d,%s", layers[0],
                 layers[1], layers[2], kinds[kind]);
        if (mount("powercut", target, "overlay", MS_NOSUID | MS_NODEV, options) == 0)
            return kind + PC_LAYERS_LINKS;
        if (kind == 0 || errno != EPERM)
            code = errno;
    }
    errno = code;
    return -1;
}

int pc_mount_layers(const char *lower, const char *upper, const char *work, const char *target, char *error,
                    size_t error_size) {
    const char *const paths[3] = {lower, upper, work};
    int layers[3] = {-1, -1, -1}, result = 0;
    for (int i = 0; i < 3 && result == 0; i++) {
        layers[i] = open(paths[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (layers[i] < 0)
            result = fail(paths[i], error, error_size);
    }
    if (result == 0) {
        result = mount_overlay(layers, target);
        if (result < 0)
            result = fail("cannot mount an overlay", error, error_size);
    }
    for (int i = 0; i < 3; i++) {
        if (layers[i] >= 0)
            close(layers[i]);
    }
    return result;
}

int pc_enter_layers(const char *upper, const char *work, const char *target, char *error, size_t error_size) {
    int result = enter_namespace(error, error_size);
    return result != 0 ? result : pc_mount_layers(target, upper, work, target, error, error_size);
}

/* Before: nothing runs. After pc_start_go: the program runs, traced from its first instruction on.
 *
 * The child waits on a pipe until it is seized, and only then installs the filter: a filtered call of a
 * process that nobody traces would fail. A second pipe, closed by a successful exec, tells why one failed. */
#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "filter.h"
#include "tracer.h"

struct failure {
    int code;
    char what[32];
};

static int fail(char *error, size_t size, const char *what, const char *object) {
    snprintf(error, size, "%s%s: %s", what, object, strerror(errno));
    return -1;
}

int pc_start_outputs(struct pc_start *start, char *error, size_t size) {
    const char *paths[2] = {start->out_path, start->err_path};
    int *descriptors[2] = {&start->out, &start->err};
    for (int i = 0; i < 2; i++) {
        if (paths[i] == NULL)
            continue;
        *descriptors[i] = open(paths[i], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (*descriptors[i] < 0)
            return fail(error, size, "cannot open ", paths[i]);
    }
    return 0;
}

static void __attribute__((noreturn)) child_failed(int pipe, const char *what, int code) {
    struct failure failure = {.code = code};
    snprintf(failure.what, sizeof(failure.what), "%s", what);
    (void)!write(pipe, &failure, sizeof(failure));
    _exit(127);
}

bool pc_start_find(const char *name, char *path, size_t size) {
    if (strchr(name, '/') != NULL) {
        snprintf(path, size, "%s", name);
        return access(name, X_OK) == 0;
    }
    const char *folders = getenv("PATH");
    for (const char *at = folders != NULL ? folders : "/bin:/usr/bin"; at != NULL;) {
        int length = (int)strcspn(at, ":");
        snprintf(path, size, "%.*s/%s", length, at, name);
        if (access(path, X_OK) == 0)
            return true;
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    errno = ENOENT;
    return false;
}

static void __attribute__((noreturn)) child(const struct pc_start *start, int go, int failure) {
    char byte;
    if (read(go, &byte, 1) != 1)
        _exit(127); /* the tracer is gone */
    if ((start->out > 0 && dup2(start->out, 1) < 0) || (start->err > 0 && dup2(start->err, 2) < 0))
        child_failed(failure, "dup2", errno);
    /* A session of its own: signals that it sends to its group, or that a terminal sends to ours, are its
     * own. */
    (void)setsid();
    signal(SIGXFSZ, start->large_files);
    if (start->cwd[0] != '\0' && chdir(start->cwd) != 0)
        child_failed(failure, "cwd", errno);
    int error = pc_install_filter();
    if (error != 0)
        child_failed(failure, "seccomp", -error);
    char path[PATH_MAX];
    if (start->command != NULL && !pc_start_find(start->argv[0], path, sizeof(path)))
        child_failed(failure, "exec", errno);
    for (int i = 0; i < PC_KEPT; i++)
        if (start->kept[i] > 0)
            (void)fcntl(start->kept[i], F_SETFD, 0);
    if (start->command != NULL)
        execv(start->command[0], start->command);
    else
        execvp(start->argv[0], start->argv);
    child_failed(failure, "exec", errno);
}

int pc_start_fork(struct pc_start *start, char *error, size_t size) {
    int go[2], failure[2];
    if (pipe2(go, O_CLOEXEC) != 0 || pipe2(failure, O_CLOEXEC) != 0)
        return fail(error, size, "cannot create a pipe", "");
    start->pid = fork();
    if (start->pid < 0)
        return fail(error, size, "cannot fork", "");
    if (start->pid == 0) {
        close(go[1]); /* so that the end of the tracer is seen */
        child(start, go[0], failure[1]);
    }
    close(go[0]);
    close(failure[1]);
    start->go = go[1];
    start->failure = failure[0];
    errno = pc_tracer_seize(start->pid);
    return errno == 0 ? 0 : fail(error, size, "cannot trace the program", "");
}

/* Whether the namespace `name` of process `pid` is another than ours. */
static bool other_namespace(pid_t pid, const char *name) {
    char path[64];
    struct stat own, theirs;
    snprintf(path, sizeof(path), "/proc/self/ns/%s", name);
    if (stat(path, &own) != 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, name);
    return stat(path, &theirs) == 0 && (own.st_ino != theirs.st_ino || own.st_dev != theirs.st_dev);
}

/* The program may see the data folder in a view of its own; to see the same we go there. */
static int enter_namespaces(pid_t pid) {
    int flags =
        (other_namespace(pid, "user") ? CLONE_NEWUSER : 0) | (other_namespace(pid, "mnt") ? CLONE_NEWNS : 0);
    if ((flags & CLONE_NEWNS) == 0)
        return 0;
    int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return -1;
    int result = setns(pidfd, flags);
    int code = errno;
    close(pidfd);
    errno = code;
    return result;
}

int pc_start_attach(struct pc_start *start, pid_t pid, char *error, size_t size) {
    start->pid = pid;
    start->attached = 1;
    errno = pc_tracer_seize(pid);
    if (errno != 0)
        return fail(error, size, "cannot attach to the process", "");
    if (enter_namespaces(pid) != 0)
        return fail(error, size, "cannot enter the mount namespace of the process", "");
    return 0;
}

void pc_start_identify(const struct pc_start *start, struct stat out[3]) {
    for (int i = 1; i <= 2; i++) {
        char path[64];
        int opened = i == 1 ? start->out : start->err;
        snprintf(path, sizeof(path), "/proc/%d/fd/%d", start->pid, i);
        int result = opened > 0 ? fstat(opened, &out[i]) : stat(path, &out[i]);
        out[i].st_nlink = result == 0; /* also for a file that has lost its name */
    }
}

void pc_start_go(struct pc_start *start) {
    if (start->attached) {
        (void)kill(start->pid, SIGCONT);
        return;
    }
    (void)!write(start->go, "", 1);
    close(start->go);
    if (start->out > 0)
        close(start->out);
    if (start->err > 0)
        close(start->err);
}

int pc_start_failure(struct pc_start *start, char *error, size_t size) {
    struct failure failure;
    if (start->attached || read(start->failure, &failure, sizeof(failure)) != (ssize_t)sizeof(failure))
        return 0;
    if (strcmp(failure.what, "exec") != 0) {
        snprintf(error, size, "cannot start the program: %s: %s", failure.what, strerror(failure.code));
        return 125;
    }
    bool missing = failure.code == ENOENT || failure.code == ENOTDIR;
    snprintf(error, size, missing ? "%s: not found" : "%s: cannot be executed: %s", start->argv[0],
             strerror(failure.code));
    return missing ? 127 : 126;
}

const char *pc_start_cwd(pid_t pid, char *text, size_t size) {
    char link[64] = "/proc/self/cwd";
    if (pid != 0)
        snprintf(link, sizeof(link), "/proc/%d/cwd", pid);
    ssize_t length = readlink(link, text, size - 1);
    text[length < 0 ? 0 : length] = '\0';
    return text;
}

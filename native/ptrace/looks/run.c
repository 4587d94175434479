/* Runs a program and writes down what it looks at.
 *
 * The program is not ptraced. Its filter hands each call that may look at a file to us before the call runs
 * (seccomp user notification), and we let it go on as soon as its looks are written: one switch to us and one
 * back, about half the price of a ptrace stop. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "looks/looks.h"
#include "looks/mappings.h"
#include "valgrind/command.h"

/* Names that older kernel headers lack. */
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define SYNC_WAKE_UP 1UL /* of SECCOMP_IOCTL_NOTIF_SET_FLAGS: both sides take turns on one core */

enum { NOT_YET = -1000000 };

/* What the child tells us: it cannot call anything else once its filter waits for our answers. */
static void tell(int *shared, int value) {
    __atomic_store_n(shared, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, shared, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static int await(int *shared) {
    int value;
    while ((value = __atomic_load_n(shared, __ATOMIC_ACQUIRE)) == NOT_YET)
        syscall(SYS_futex, shared, FUTEX_WAIT, NOT_YET, NULL, NULL, 0);
    return value;
}

static void __attribute__((noreturn)) child(int *shared, uint64_t secret, char **argv, const char *cwd) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (cwd[0] != '\0' && chdir(cwd) != 0) {
        tell(shared, -errno);
        _exit(127);
    }
    int listener = pc_install_looks_filter(secret);
    tell(shared, listener);
    if (listener >= 0)
        execvp(argv[0], argv);
    _exit(127);
}

/* The child's listener, in our own table of descriptors; or -errno. */
static int fetch_listener(pid_t pid, int number) {
    int pidfd = number < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (pidfd < 0)
        return number < 0 ? number : -errno;
    int listener = (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    int code = errno;
    close(pidfd);
    return listener < 0 ? -code : listener;
}

static void become(struct pc_thread *thread, pid_t tid) {
    if (thread->tid == tid)
        return;
    if (thread->pidfd >= 0)
        close(thread->pidfd);
    thread->pidfd = -1;
    thread->tid = thread->tgid = tid; /* /proc knows threads by their own number, too */
}

/* Answers one call. False: nobody is left to ask. */
static bool answer(struct pc_recorder *recorder, struct pc_thread *thread, int listener) {
    struct seccomp_notif asked = {0};
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0)
        return errno == ENOENT || errno == EINTR; /* it was killed meanwhile */
    become(thread, (pid_t)asked.pid);
    thread->call.number = asked.data.nr;
    for (int i = 0; i < 6; i++)
        thread->call.arg[i] = asked.data.args[i];
    pc_look_call(recorder, thread);
    pc_mappings_hold(recorder, thread);
    struct seccomp_notif_resp go = {.id = asked.id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go);
    pc_mappings_let_go(recorder, thread);
    return true;
}

/* Until the program has ended: its verdict is there, and what it left running does not count. */
static void follow(struct pc_recorder *recorder, int listener, pid_t pid) {
    struct pc_thread thread = {.pidfd = -1};
    int end = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd events[2] = {{.fd = listener, .events = POLLIN}, {.fd = end, .events = POLLIN}};
    while (end >= 0) {
        if (poll(events, 2, -1) < 0 && errno != EINTR)
            break;
        if (events[0].revents & POLLIN) {
            if (!answer(recorder, &thread, listener))
                break;
        } else if (events[0].revents != 0) {
            events[0].fd = -1; /* no thread with the filter is left */
        }
        if (events[1].revents != 0)
            break;
    }
    if (end < 0)
        pc_note(recorder, NULL, "powercut could not wait for its end");
    close(end);
    become(&thread, 0);
}

/* The program inside the tool that tells its loads. */
static char **in_tool(const struct pc_recorder *recorder, const char *tool, uint64_t secret, char **argv) {
    char device[64], shared[64], messages[64];
    int quiet = open("/dev/null", O_WRONLY); /* inherited: for what Valgrind itself says */
    (void)snprintf(device, sizeof(device), "--device=%llu", (unsigned long long)recorder->dir_dev);
    (void)snprintf(shared, sizeof(shared), "--secret=%llu", (unsigned long long)secret);
    (void)snprintf(messages, sizeof(messages), "--messages=%d", quiet);
    const char *const own[] = {"--tool=powercut-loads", strdup(device), strdup(shared), strdup(messages),
                               NULL};
    return pc_tool_command(tool, own, argv);
}

int pc_looks_run(struct pc_recorder *recorder, const char *tool, char **argv, const char *cwd, int *status) {
    int *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return errno;
    *shared = NOT_YET;
    uint64_t secret;
    if (getrandom(&secret, sizeof(secret), 0) != (ssize_t)sizeof(secret))
        return errno;
    secret >>= 1; /* the tool takes it for a number with a sign */
    pid_t pid = fork();
    if (pid == 0 && tool != NULL && (argv = in_tool(recorder, tool, secret, argv)) == NULL)
        _exit(127);
    if (pid == 0)
        child(shared, secret, argv, cwd);
    if (pid < 0)
        return errno;
    recorder->mappings = pc_mappings_new(recorder, secret, tool != NULL);
    recorder->program = pid;
    recorder->ended = -1;
    int listener = fetch_listener(pid, await(shared));
    if (listener >= 0) {
        unsigned long flags = SYNC_WAKE_UP; /* a kernel before 6.6 does without */
        (void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, flags);
        follow(recorder, listener, pid);
        pc_mappings_end(recorder);
        close(listener); /* whoever asks now gets an error: all that is left is to be killed */
    } else {
        (void)kill(pid, SIGKILL);
    }
    *status = recorder->ended;
    while (*status == -1 && waitpid(pid, status, 0) < 0 && errno == EINTR) {
    }
    return listener < 0 ? -listener : 0;
}

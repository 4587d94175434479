/* Bringing a check to the point at which it is forked.
 *
 * Before: nothing runs. After pc_zygote_start: the check stands, traced, before the call in question, alone;
 * or nothing of it is left, and there is a reason. Every call of it and of what it starts is stopped at
 * (PTRACE_SYSCALL: no filter stays behind in the forks), which costs some milliseconds once.
 *
 * A program that was started through others (a shim, env, a shell that executes it) may have had processes
 * and learned its number before. That does not matter if they have ended and another program was executed
 * since. If it does matter, all is done again, and the program in question is forked before it does such a
 * thing. */
#include "forks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stub.h"

#define MOST_PROCESSES 64
#define SYSCALL_STOP   (SIGTRAP | 0x80)
#define OPTIONS                                                                                              \
    (PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |                \
     PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL)
#define USER_CODE 0x33 /* the code segment of 64-bit programs */

struct traced {
    pid_t pid;
    bool begun; /* the stop with which it came was seen */
};

/* One attempt. The first of `processes` is the check itself. */
struct scout {
    struct pc_zygote *zygote;
    const struct pc_private *place;
    double deadline;
    struct traced processes[MOST_PROCESSES];
    int count;
    int executions;
    bool knows_itself;
    bool again; /* whether another attempt may help */
    bool there; /* it stands at the point */
};

static bool fail(struct scout *scout, const char *reason) {
    snprintf(scout->zygote->reason, sizeof(scout->zygote->reason), "%s", reason);
    return false;
}

/* The same, where it would have been forked before a call. */
static bool fail_at(struct scout *scout, const char *reason, const struct pc_stop *stop) {
    snprintf(scout->zygote->reason, sizeof(scout->zygote->reason), "%s before system call %llu", reason,
             (unsigned long long)stop->number);
    return false;
}

/* The next news of any process, or 0 when time is up. SIGCHLD is blocked, so none can be missed. */
static pid_t next_news(double deadline, int *status) {
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (;;) {
        pid_t pid = waitpid(-1, status, WNOHANG | __WALL);
        if (pid != 0) {
            return pid < 0 ? 0 : pid;
        }
        double left = deadline - pc_now();
        if (left <= 0) {
            return 0;
        }
        struct timespec limit = {.tv_sec = (time_t)left,
                                 .tv_nsec = (long)((left - (double)(time_t)left) * 1e9)};
        sigtimedwait(&child, NULL, &limit);
    }
}

static struct traced *find(struct scout *scout, pid_t pid) {
    for (int i = 0; i < scout->count; i++) {
        if (scout->processes[i].pid == pid) {
            return &scout->processes[i];
        }
    }
    return NULL;
}

static struct traced *add(struct scout *scout, pid_t pid) {
    if (scout->count == MOST_PROCESSES) {
        return NULL;
    }
    scout->processes[scout->count] = (struct traced){.pid = pid};
    return &scout->processes[scout->count++];
}

static void forget(struct scout *scout, pid_t pid) {
    struct traced *process = find(scout, pid);
    if (process != NULL) {
        *process = scout->processes[--scout->count];
    }
}

static bool note_absence(struct pc_zygote *zygote, const char *path) {
    for (int i = 0; i < zygote->absent_count; i++) {
        if (strcmp(zygote->absent[i], path) == 0) {
            return true;
        }
    }
    char *copy = zygote->absent_count < PC_MOST_ABSENT ? strdup(path) : NULL;
    if (copy != NULL) {
        zygote->absent[zygote->absent_count++] = copy;
    }
    return copy != NULL;
}

/* Where it stands: whether it can be forked there. */
static bool arrive(struct scout *scout, const struct pc_stop *stop) {
    struct pc_zygote *zygote = scout->zygote;
    pid_t pid = scout->processes[0].pid;
    scout->again = true;
    if (scout->count > 1) {
        return fail_at(scout, "it has other processes", stop);
    }
    if (scout->knows_itself) {
        return fail_at(scout, "it has asked for its process number", stop);
    }
    unsigned char code[2];
    if (ptrace(PTRACE_GETREGS, pid, NULL, &zygote->regs) != 0 || zygote->regs.cs != USER_CODE ||
        !pc_peek_code(pid, zygote->regs.rip - 2, code) || code[0] != 0x0f || code[1] != 0x05) {
        return fail(scout, "it is no 64-bit program");
    }
    zygote->pid = pid;
    snprintf(zygote->reason, sizeof(zygote->reason), "call %llu", (unsigned long long)stop->number);
    scout->there = true;
    return true;
}

/* The check itself, or a process that it started, is about to make a call. */
static bool enter(struct scout *scout, pid_t pid, const struct pc_stop *stop) {
    bool own = pid == scout->processes[0].pid;
    struct pc_walked walked;
    enum pc_call call = pc_judge_call(scout->place, pid, stop, &walked);
    if (!scout->zygote->lenient && (call == PC_ABSENCE || call == PC_LOOK)) {
        call = PC_FORK_POINT;
    }
    if (call == PC_ABSENCE) {
        call = note_absence(scout->zygote, walked.path) ? PC_HARMLESS : PC_FORK_POINT;
    }
    scout->zygote->looked |= call == PC_LOOK;
    bool strict = scout->zygote->strict_from >= 0 && scout->executions >= scout->zygote->strict_from;
    if (own && (call == PC_CALL_END || (strict && (call == PC_IDENTITY || call == PC_FORKING)))) {
        call = PC_FORK_POINT;
    }
    if (call == PC_FORK_POINT && !own) {
        scout->again = true;
        return fail_at(scout, "another process of it could change or see something", stop);
    }
    if (call == PC_FORK_POINT) {
        return arrive(scout, stop);
    }
    scout->knows_itself |= own && call == PC_IDENTITY;
    return true;
}

/* Another program is executed: what the last one knew is gone. */
static bool executed(struct scout *scout, pid_t pid) {
    char link[64], path[PATH_MAX];
    struct stat status;
    snprintf(link, sizeof(link), "/proc/%d/exe", pid);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = '\0';
    size_t folder = strlen(scout->place->folder);
    bool inside = strncmp(path, scout->place->folder, folder) == 0 && path[folder] == '/';
    if (length <= 0 || inside || stat(link, &status) != 0) {
        return fail(scout, "its program lies in the data folder");
    }
    if ((status.st_mode & (S_ISUID | S_ISGID)) != 0) {
        return fail(scout, "it runs with the rights of another user");
    }
    if (pid == scout->processes[0].pid) {
        scout->executions++;
        scout->knows_itself = false;
    }
    return true;
}

/* One stop of one process; the signal that it goes on with. */
static bool stopped(struct scout *scout, struct traced *process, int status, int *deliver) {
    struct __ptrace_syscall_info info;
    unsigned long number = 0;
    int signal_number = WSTOPSIG(status);
    *deliver = 0;
    switch (status >> 16) {
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        return ptrace(PTRACE_GETEVENTMSG, process->pid, NULL, &number) == 0 &&
                       (find(scout, (pid_t)number) != NULL || add(scout, (pid_t)number) != NULL)
                   ? true
                   : fail(scout, "it starts too many processes");
    case PTRACE_EVENT_EXEC:
        return executed(scout, process->pid);
    default:
        break;
    }
    if (signal_number == SYSCALL_STOP) {
        if (ptrace(PTRACE_GET_SYSCALL_INFO, process->pid, sizeof(info), &info) <= 0) {
            return fail(scout, "the kernel is too old");
        }
        if (info.op != PTRACE_SYSCALL_INFO_ENTRY) {
            return true;
        }
        struct pc_stop stop = {.number = info.entry.nr, .rip = info.instruction_pointer};
        memcpy(stop.args, info.entry.args, sizeof(stop.args));
        return enter(scout, process->pid, &stop);
    }
    if (!process->begun && signal_number == SIGSTOP) {
        process->begun = true; /* how a new process comes to us */
        return true;
    }
    if (signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
        signal_number == SIGTTOU) {
        return fail(scout, "it stops itself");
    }
    *deliver = signal_number;
    return true;
}

/* Follows the check until it stands at the point, or cannot get there. */
static bool follow(struct scout *scout) {
    while (!scout->there) {
        int status, deliver;
        pid_t pid = next_news(scout->deadline, &status);
        if (pid == 0) {
            return fail(scout, "it takes too long until it looks at its folder");
        }
        struct traced *process = find(scout, pid);
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (pid == scout->processes[0].pid) {
                return fail(scout, "it dies before it looks at its folder");
            }
            forget(scout, pid);
            continue;
        }
        if (process == NULL && (process = add(scout, pid)) == NULL) {
            return fail(scout, "it starts too many processes");
        }
        if (!stopped(scout, process, status, &deliver)) {
            return false;
        }
        if (!scout->there && ptrace(PTRACE_SYSCALL, pid, NULL, deliver) != 0 && errno != ESRCH) {
            return fail(scout, "it cannot be traced");
        }
    }
    return true;
}

/* Ends all of an attempt. */
static void give_up(struct scout *scout) {
    for (int i = 0; i < scout->count; i++) {
        kill(scout->processes[i].pid, SIGKILL);
    }
    pc_reap_children();
    scout->zygote->pid = 0;
}

static bool attempt(struct scout *scout, struct pc_launch *launch) {
    int status = 0;
    pid_t pid = pc_launch_start(launch);
    if (pid < 0) {
        return fail(scout, "it cannot be started");
    }
    add(scout, pid)->begun = true;
    if (next_news(scout->deadline, &status) != pid || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP) {
        return fail(scout, "it cannot be traced");
    }
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, OPTIONS) != 0 || !executed(scout, pid)) {
        return false;
    }
    scout->executions = 0;
    if (ptrace(PTRACE_SYSCALL, pid, NULL, 0) != 0) {
        return fail(scout, "it cannot be traced");
    }
    if (!follow(scout) || !pc_hold_files(scout->zygote) || !pc_put_stub(scout->zygote)) {
        return false;
    }
    pc_shorten_end(scout->zygote);
    return true;
}

bool pc_zygote_start(struct pc_zygote *zygote, struct pc_launch *launch, const struct pc_private *place,
                     double deadline) {
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &before);
    bool good = false, again = true;
    launch->traced = true;
    for (int tries = 0; tries < 2 && again && !good; tries++) {
        struct scout scout = {.zygote = zygote, .place = place, .deadline = deadline};
        good = stat(place->folder, &zygote->folder) == 0 && fstat(launch->output, &zygote->output) == 0 &&
               attempt(&scout, launch);
        again = scout.again && zygote->strict_from != scout.executions;
        if (!good) {
            give_up(&scout);
            char reason[PC_REASON];
            memcpy(reason, zygote->reason, sizeof(reason));
            int strict_from = again ? scout.executions : -1;
            pc_zygote_end(zygote);
            zygote->strict_from = strict_from;
            memcpy(zygote->reason, reason, sizeof(reason));
        }
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return good;
}

/* Running one check: start it fast, wait for it with a limit, leave nothing of it behind.
 *
 * Before: this process has no children that matter. After: the check and all it started have ended and been
 * reaped, the output file is empty again, and its last bytes are in the result.
 *
 * The child shares our memory until it executes (vfork): no page tables are copied, however large the traces
 * in this process are. It therefore touches nothing but its own stack and the `launch` record. */
#include "spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS     5         /* how often a long check's events and output are looked after */
#define KEEP_OUTPUT 8192      /* the end of the output that is returned */
#define OUTPUT_ROOM (1 << 20) /* output beyond this is forgotten while the check still runs */

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC (1U << 2)
#endif

enum ending { ENDED, TIMED_OUT, INTERRUPTED };

double pc_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void close_on_exec(unsigned int first) {
    if (syscall(SYS_close_range, first, ~0U, CLOSE_RANGE_CLOEXEC) == 0) {
        return;
    }
    for (int fd = (int)first; fd < 1024; fd++) { /* a kernel before 5.11 */
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

static void become(struct pc_launch *launch) {
    /* Ignored signals stay ignored across execve; these are the ones Python or a worker ignores. */
    static const int defaults[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGCHLD, SIGXFSZ};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    for (size_t i = 0; i < sizeof(defaults) / sizeof(*defaults); i++) {
        sigaction(defaults[i], &plain, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* A group, not a session: that would be a scheduling group of its own, at half the price of a program. */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a killed worker leaves no check behind */
    if (dup2(launch->input, 0) < 0 || dup2(launch->output, 1) < 0 || dup2(launch->output, 2) < 0 ||
        chdir(launch->cwd) != 0) {
        launch->error = errno;
        _exit(127);
    }
    close_on_exec(3);
    if (launch->traced) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL); /* where it fails, no stop comes, which shows */
    }
    execve(launch->path, launch->argv, launch->env);
    launch->error = errno;
    _exit(127);
}

pid_t pc_launch_start(struct pc_launch *launch) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before); /* no handler of ours may run in the child */
    pid_t child = vfork();
    if (child == 0) {
        become(launch);
    }
    int saved = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return child;
}

/* Output is a file in memory: a check that prints without end must not fill it. */
static void trim_output(int output) {
    struct stat status;
    if (fstat(output, &status) == 0 && (long long)status.st_blocks * 512 > OUTPUT_ROOM) {
        fallocate(output, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, status.st_size - KEEP_OUTPUT);
    }
}

static int pause_for(int pidfd, pid_t child, int milliseconds) {
    if (pidfd >= 0) {
        struct pollfd end = {.fd = pidfd, .events = POLLIN};
        return poll(&end, 1, milliseconds);
    }
    siginfo_t info = {0}; /* a kernel before 5.3: look, and sleep a little */
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child) {
        return 1;
    }
    struct timespec nap = {.tv_nsec = 200000};
    return nanosleep(&nap, NULL);
}

/* Calls the ticker and Python's signal handlers. False when one of them raised. */
static bool look_after(PyObject *tick) {
    if (PyErr_CheckSignals() != 0) {
        return false;
    }
    if (tick == Py_None) {
        return true;
    }
    PyObject *nothing = PyObject_CallNoArgs(tick);
    Py_XDECREF(nothing);
    return nothing != NULL;
}

static enum ending wait_for(pid_t child, int output, double deadline, PyObject *tick) {
    int pidfd = (int)syscall(SYS_pidfd_open, child, 0);
    enum ending ending = ENDED;
    for (;;) {
        double left = deadline - pc_now();
        int limit = left <= 0 ? 0 : left * 1000 < TICK_MS ? (int)(left * 1000) + 1 : TICK_MS;
        PyThreadState *python = PyEval_SaveThread();
        int ready = pause_for(pidfd, child, limit);
        PyEval_RestoreThread(python);
        if (ready > 0) {
            break;
        }
        if (pc_now() >= deadline) {
            ending = TIMED_OUT;
            break;
        }
        pc_end_if_orphaned(child);
        trim_output(output);
        if (!look_after(tick)) {
            ending = INTERRUPTED;
            break;
        }
    }
    if (pidfd >= 0) {
        close(pidfd);
    }
    return ending;
}

static PyObject *take_output(int output) {
    struct stat status;
    if (fstat(output, &status) != 0 || status.st_size == 0) {
        return PyBytes_FromStringAndSize(NULL, 0);
    }
    char kept[KEEP_OUTPUT];
    off_t from = status.st_size > KEEP_OUTPUT ? status.st_size - KEEP_OUTPUT : 0;
    ssize_t got = pread(output, kept, sizeof(kept), from);
    if (ftruncate(output, 0) != 0 || lseek(output, 0, SEEK_SET) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    return PyBytes_FromStringAndSize(kept, got > 0 ? got : 0);
}

/* Ends and reaps the program's group and what else it left. As pc_reap_children. */
static int finish(pid_t child, bool running, int *status) {
    kill(-child, SIGKILL); /* before reaping: the number is still the group's */
    if (running) {
        kill(child, SIGKILL);
    }
    while (waitpid(child, status, 0) < 0 && errno == EINTR) {
    }
    return pc_reap_children();
}

PyObject *pc_see_to_its_end(pid_t child, double begun, double timeout, int output_file, const int *error,
                            PyObject *tick) {
    enum ending ending = wait_for(child, output_file, begun + timeout, tick);
    double seconds = pc_now() - begun;
    int status = 0;
    PyThreadState *python = PyEval_SaveThread();
    int strays = finish(child, ending != ENDED, &status);
    PyEval_RestoreThread(python);
    if (ending == INTERRUPTED) {
        return NULL;
    }
    if (strays < 0) {
        PyErr_SetString(PyExc_TimeoutError, "processes started by the check cannot be killed");
        return NULL;
    }
    PyObject *output = take_output(output_file);
    if (output == NULL) {
        return NULL;
    }
    if (*error != 0) {
        return Py_BuildValue("(sidN)", "error", *error, seconds, output);
    }
    if (ending == TIMED_OUT) {
        return Py_BuildValue("(sidN)", "timeout", 0, seconds, output);
    }
    if (WIFSIGNALED(status)) {
        return Py_BuildValue("(sidN)", "signal", WTERMSIG(status), seconds, output);
    }
    return Py_BuildValue("(sidN)", "exit", WEXITSTATUS(status), seconds, output);
}

/* Runs the program; NULL with an exception when it was interrupted or something of it would not die. */
static PyObject *run(struct pc_launch *launch, double timeout, PyObject *tick) {
    double begun = pc_now();
    PyThreadState *python = PyEval_SaveThread();
    pid_t child = pc_launch_start(launch);
    int start_error = errno;
    PyEval_RestoreThread(python);
    if (child < 0) {
        return Py_BuildValue("(sidy)", "error", start_error, 0.0, "");
    }
    return pc_see_to_its_end(child, begun, timeout, launch->output, &launch->error, tick);
}

/* The C vector of a list of bytes; its strings live as long as the list does. */
static char **vector(PyObject *list) {
    Py_ssize_t count = PyList_GET_SIZE(list);
    char **strings = PyMem_New(char *, count + 1);
    if (strings == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        strings[i] = PyBytes_AsString(PyList_GET_ITEM(list, i));
        if (strings[i] == NULL) {
            PyMem_Free(strings);
            return NULL;
        }
    }
    strings[count] = NULL;
    return strings;
}

bool pc_launch_take(struct pc_launch *launch, PyObject *argv, PyObject *env) {
    launch->argv = vector(argv);
    launch->env = launch->argv ? vector(env) : NULL;
    return launch->env != NULL;
}

void pc_launch_free(struct pc_launch *launch) {
    PyMem_Free(launch->env);
    PyMem_Free(launch->argv);
}

PyObject *engine_spawn(PyObject *self, PyObject *args) {
    struct pc_launch launch = {0};
    PyObject *argv, *env, *tick, *result = NULL;
    double timeout;
    if (!PyArg_ParseTuple(args, "yO!O!yiidO:spawn", &launch.path, &PyList_Type, &argv, &PyList_Type, &env,
                          &launch.cwd, &launch.input, &launch.output, &timeout, &tick)) {
        return NULL;
    }
    if (pc_launch_take(&launch, argv, env)) {
        result = run(&launch, timeout, tick);
    }
    pc_launch_free(&launch);
    return result;
}

/* Processes that a check leaves behind: adopted, killed and reaped, so that none writes into the next image.
 */
#include "engine.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS         100000L /* between two looks at processes that are dying */
#define NAPS_FREE      5       /* looks before searching: most strays are dead or dying already */
#define ORPHAN_SECONDS 2       /* how long a worker may take to end what it started */
#define NAPS_MAX       50000   /* five seconds */

static pid_t parent_of(const char *number) {
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%.20s/stat", number);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return -1;
    }
    size_t got = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[got] = '\0';
    const char *name_end = strrchr(line, ')'); /* the name may hold spaces and brackets */
    int parent = -1;
    if (name_end == NULL || sscanf(name_end + 1, " %*c %d", &parent) != 1) {
        return -1;
    }
    return parent;
}

static pid_t spared;

void pc_spare(pid_t child) {
    spared = child;
}

/* The numbers of our children, as the kernel lists them; false if it does not. */
static bool list_children(char *text, size_t size) {
    static int file = -1;
    static pid_t owner;
    if (owner != getpid()) { /* forks must not look at the children of others */
        char path[64];
        if (file >= 0) {
            close(file);
        }
        owner = getpid();
        snprintf(path, sizeof(path), "/proc/self/task/%d/children", owner);
        file = open(path, O_RDONLY | O_CLOEXEC);
    }
    ssize_t got = file < 0 ? -1 : pread(file, text, size - 1, 0);
    text[got > 0 ? got : 0] = '\0';
    return got >= 0;
}

bool pc_can_spare(void) {
    char text[64];
    return list_children(text, sizeof(text));
}

/* Whether the child that is spared is the only one. */
static bool only_spared(void) {
    char text[64], *end;
    return spared > 0 && list_children(text, sizeof(text)) && strtol(text, &end, 10) == spared &&
           end[strspn(end, " ")] == '\0';
}

/* Only children are killed: what they leave comes to us (adopt_orphans) and is met at the next look. */
static void kill_children(void) {
    DIR *proc = opendir("/proc");
    if (proc == NULL) {
        return;
    }
    pid_t self = getpid();
    for (struct dirent *entry; (entry = readdir(proc)) != NULL;) {
        if (isdigit((unsigned char)entry->d_name[0]) && atol(entry->d_name) != spared &&
            parent_of(entry->d_name) == self) {
            kill((pid_t)atol(entry->d_name), SIGKILL);
        }
    }
    closedir(proc);
}

int pc_reap_children(void) {
    int reaped = 0;
    for (int naps = 0; naps < NAPS_MAX;) {
        pid_t child = waitpid(-1, NULL, WNOHANG | __WALL);
        if (child > 0) {
            reaped++;
            spared = child == spared ? 0 : spared; /* the check killed it */
        } else if ((child < 0 && errno == ECHILD) || (child == 0 && only_spared())) {
            return reaped;
        } else {
            if (naps++ >= NAPS_FREE) {
                kill_children();
            }
            struct timespec nap = {.tv_nsec = NAP_NS};
            nanosleep(&nap, NULL);
        }
    }
    return -1;
}

PyObject *engine_reap_strays(PyObject *self, PyObject *args) {
    int reaped;
    PyThreadState *python = PyEval_SaveThread();
    reaped = pc_reap_children();
    PyEval_RestoreThread(python);
    if (reaped < 0) {
        PyErr_SetString(PyExc_TimeoutError, "processes started by the check cannot be killed");
        return NULL;
    }
    return PyLong_FromLong(reaped);
}

PyObject *engine_adopt_orphans(PyObject *self, PyObject *args) {
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    Py_RETURN_NONE;
}

static volatile sig_atomic_t orphaned;

static void on_orphaned(int number) {
    orphaned = 1;
    alarm(ORPHAN_SECONDS); /* whatever this process is doing, it ends */
}

void pc_end_if_orphaned(pid_t child) {
    if (orphaned) {
        kill(-child, SIGKILL);
        pc_reap_children();
        _exit(1);
    }
}

PyObject *engine_die_with_parent(PyObject *self, PyObject *args) {
    int parent;
    if (!PyArg_ParseTuple(args, "i:die_with_parent", &parent)) {
        return NULL;
    }
    struct sigaction note = {.sa_handler = on_orphaned}, end = {.sa_handler = SIG_DFL};
    sigaction(SIGALRM, &end, NULL);
    if (sigaction(SIGTERM, &note, NULL) != 0 || prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) {
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    if (getppid() != parent) { /* it ended before we asked */
        _exit(1);
    }
    Py_RETURN_NONE;
}

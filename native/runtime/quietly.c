#include "quietly.h"

/* A fault comes at once or kills: it is never held back. */
static const int synchronous[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* How many hushes lie in each other: only the outermost one asks the kernel. */
static _Thread_local unsigned depth __attribute__((tls_model("initial-exec")));

struct quiet hush(void) {
    struct quiet quiet;
    if (depth == 0) {
        sigset_t all;
        sigfillset(&all);
        for (unsigned i = 0; i < sizeof synchronous / sizeof *synchronous; i++)
            sigdelset(&all, synchronous[i]);
        pthread_sigmask(SIG_SETMASK, &all, &quiet.before);
    }
    depth++;
    return quiet;
}

void unhush(const struct quiet *quiet) {
    if (--depth == 0)
        pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
}

struct quiet lock_quietly(pthread_mutex_t *lock) {
    struct quiet quiet = hush();
    pthread_mutex_lock(lock);
    return quiet;
}

void unlock_quietly(pthread_mutex_t *lock, const struct quiet *quiet) {
    pthread_mutex_unlock(lock);
    unhush(quiet);
}

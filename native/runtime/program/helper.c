/* A process that checks, for a program that runs by itself.
 *
 * It is a process and no thread, so that it outlives the program: whatever ends the program, the helper
 * checks what was recorded until then and prints the report. It is no child of the program, which therefore
 * never meets it in a wait. */
#define _GNU_SOURCE
#include "program.h"

#include "../checker/drain.h"
#include "../engine/findings.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 20 };

/* Keep standard error for the report, and what ends tells the end of the program; let go of everything else.
 */
static int let_go(int ended) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 0);
    dup2(null, 1);
    dup2(ended, 3);
    syscall(SYS_close_range, 4u, ~0u, 0u);
    return 3;
}

static void ignore_requests_to_end(void) {
    const int numbers[] = {SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT, SIGPIPE,
                           SIGALRM, SIGVTALRM, SIGPROF, SIGUSR1, SIGUSR2};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void be_helper(struct channel *channel, int ended, bool quiet) {
    prctl(PR_SET_NAME, "powercut-check");
    ignore_requests_to_end();
    ended = let_go(ended);
    atomic_store(&channel->checker, (uint32_t)getpid());
    bell_ring(&channel->answers);
    if (drain(channel, ended, NULL) == 0 && !quiet)
        findings_print(channel, 2);
    atomic_store(&channel->done, 1);
    bell_ring(&channel->answers);
    _exit(0);
}

/* Wait for the child that only starts the helper, without a signal of its end for the program. */
static bool start_twice_removed(struct channel *channel, int ended, bool quiet) {
    pid_t child = fork();
    if (child == 0) {
        setsid();
        pid_t helper = fork();
        if (helper == 0)
            be_helper(channel, ended, quiet);
        _exit(helper < 0);
    }
    int status = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && status == 0;
}

/* In the program itself, for one that must not fork; then an end that the program does not see coming loses
 * what was not yet checked. */
static void *be_helping_thread(void *with) {
    struct channel *channel = with;
    drain(channel, -1, NULL);
    if (!atomic_load(&session.quiet))
        findings_print(channel, 2);
    atomic_store(&channel->done, 1);
    bell_ring(&channel->answers);
    return NULL;
}

static bool start_thread(struct channel *channel) {
    pthread_t thread;
    struct quiet quiet = hush(); /* the program's handlers would wait there for what only this thread does */
    int failed = pthread_create(&thread, NULL, be_helping_thread, channel);
    unhush(&quiet);
    if (failed)
        return false;
    pthread_detach(thread);
    atomic_store(&channel->checker, (uint32_t)getpid());
    return true;
}

bool start_helper(struct channel *channel, bool quiet) {
    const char *how = getenv("POWERCUT_CHECKER");
    atomic_store(&session.quiet, quiet);
    if (how && strcmp(how, "thread") == 0)
        return start_thread(channel);
    int ended = above_standard((int)syscall(SYS_pidfd_open, getpid(), 0));
    if (ended < 0)
        return false;
    sigset_t child, before;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &child, &before);
    bool started = start_twice_removed(channel, ended, quiet);
    while (!sigismember(&before, SIGCHLD) && sigtimedwait(&child, NULL, &(struct timespec){0}) > 0)
        ;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(ended);
    for (uint32_t answers = 0; started && !atomic_load(&channel->checker);
         answers = bell_look(&channel->answers))
        bell_wait(&channel->answers, answers, PATIENCE_MS);
    return started;
}

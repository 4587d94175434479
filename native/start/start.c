/*
 * The command `powercut`: starts the Python program that lies beside it, with Ctrl-C held back.
 *
 * While Python starts, before a line of ours has run, Ctrl-C makes it print a traceback. An interrupt that is
 * held back survives the start of another program, so it comes as soon as the program can take it: see
 * powercut-python.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define BESIDE "-python"
enum { FAILED = 3 };

/* Hold SIGINT back, unless whoever started us did so, or ignores it. */
static void hold_interrupts(void) {
    struct sigaction known;
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    if (sigaction(SIGINT, NULL, &known) == 0 && known.sa_handler != SIG_IGN &&
        sigprocmask(SIG_BLOCK, &interrupt, &before) == 0 && !sigismember(&before, SIGINT))
        setenv("POWERCUT_HOLDS_INTERRUPTS", "1", 1);
}

int main(int argc, char **argv) {
    char path[PATH_MAX + sizeof BESIDE];
    const char *own = (const char *)getauxval(AT_EXECFN), *wanted = argv[0];
    if (own != NULL && realpath(own, path) != NULL) {
        wanted = strcat(path, BESIDE);
        hold_interrupts();
        execv(path, argv);
    }
    fprintf(stderr,
            "powercut: cannot start %s: %s. The Python in its first line must be there, and yours to run.\n",
            wanted, strerror(errno));
    return FAILED;
}

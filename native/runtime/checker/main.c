/* powercut-checker: runs a program under check, or checks a saved trace again, and writes the outcome as
 * JSON.
 *
 *   powercut-checker --out FILE [--model M] [--workers N] [--buffer N] [--trace FILE] [--parent PID]
 *                    -- PROGRAM ARGS
 *   powercut-checker --out FILE [--model M] --recheck TRACE
 *   powercut-checker --kinds
 *
 * It outlives the program, so that whatever ends the program, what it recorded is checked. A first SIGTERM
 * ends the program, a second one kills it; so does the end of the process that --parent names. */
#define _GNU_SOURCE
#include "drain.h"
#include "json.h"
#include "trace_file.h"

#include "../engine/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { USAGE = 2 };

struct options {
    const char *out, *model, *trace, *recheck;
    uint32_t workers, buffer;
    pid_t parent; /* 0: nobody in particular */
    char **program;
};

static volatile sig_atomic_t running; /* the program's process */
static volatile sig_atomic_t parent;  /* ours, if we end with it */

static void pass_on(int number) {
    static volatile sig_atomic_t asked;
    if (parent && getppid() != parent) /* nobody is left who could ask again */
        asked = 1;
    if (running)
        kill(running, asked ? SIGKILL : SIGTERM);
    asked = 1;
}

static void set_signals(void) {
    struct sigaction action = {.sa_handler = pass_on, .sa_flags = SA_RESTART};
    sigaction(SIGTERM, &action, NULL);
    signal(SIGINT, SIG_IGN); /* a terminal sends it to the program as well */
    signal(SIGQUIT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}

/* A signal comes when the parent ends. It is asked for first: a parent that ended before that is not ours any
 * more. */
static bool end_with(pid_t process, int number) {
    return prctl(PR_SET_PDEATHSIG, number) == 0 && getppid() == process;
}

/* In the child: become the program. What fails goes through the pipe. */
static void become(const struct options *options, int channel, int trouble, pid_t checker) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)checker, channel);
    setenv("POWERCUT_CHANNEL", path, 1);
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    if (!end_with(checker, SIGKILL)) /* nobody would check it any more */
        _exit(127);
    execv(options->program[0], options->program);
    int reason = errno;
    if (write(trouble, &reason, sizeof reason) < 0)
        _exit(127);
    _exit(127);
}

static int start(const struct options *options, int channel) {
    int pipes[2], reason = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return errno;
    pid_t checker = getpid(), child = fork();
    if (child == 0)
        become(options, channel, pipes[1], checker);
    reason = child < 0 ? errno : 0;
    close(pipes[1]);
    running = child > 0 ? child : 0;
    if (child > 0 && parent && getppid() != parent) /* its signal came before there was a program to end */
        kill(child, SIGKILL);
    if (child > 0 && read(pipes[0], &reason, sizeof reason) == (ssize_t)sizeof reason)
        waitpid(child, NULL, 0);
    close(pipes[0]);
    return reason;
}

static struct ending run(const struct options *options, struct channel *channel, int descriptor) {
    struct ending ending = {.trouble = ""};
    struct trace_file trace, *saved = NULL;
    if (options->trace) {
        if (!trace_create(&trace, options->trace))
            return (struct ending){.trouble = "cannot-save", .reason = errno};
        saved = &trace;
    }
    set_signals();
    atomic_store(&channel->checker, (uint32_t)getpid());
    ending.reason = start(options, descriptor);
    if (ending.reason) {
        ending.trouble = "cannot-start";
        return ending;
    }
    int ended = (int)syscall(SYS_pidfd_open, (pid_t)running, 0), status = 0;
    if (ended < 0 || drain(channel, ended, saved) != 0) {
        ending.trouble = "cannot-check";
        ending.reason = errno;
        kill(running, SIGKILL);
    }
    waitpid(running, &status, 0);
    atomic_store(&channel->done, 1);
    ending.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (saved && !trace_finish(saved, channel) && !*ending.trouble) {
        ending.trouble = "cannot-save";
        ending.reason = errno;
    }
    return ending;
}

static bool parse(int count, char **words, struct options *options) {
    static const struct option known[] = {{"out", required_argument, NULL, 'o'},
                                          {"model", required_argument, NULL, 'm'},
                                          {"workers", required_argument, NULL, 'w'},
                                          {"buffer", required_argument, NULL, 'b'},
                                          {"trace", required_argument, NULL, 't'},
                                          {"recheck", required_argument, NULL, 'r'},
                                          {"parent", required_argument, NULL, 'p'},
                                          {"kinds", no_argument, NULL, 'k'},
                                          {NULL, 0, NULL, 0}};
    for (int option; (option = getopt_long(count, words, "+", known, NULL)) != -1;) {
        switch (option) {
        case 'o':
            options->out = optarg;
            break;
        case 'm':
            options->model = optarg;
            break;
        case 'w':
            options->workers = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 'b':
            options->buffer = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        case 't':
            options->trace = optarg;
            break;
        case 'r':
            options->recheck = optarg;
            break;
        case 'p':
            options->parent = (pid_t)strtol(optarg, NULL, 10);
            break;
        case 'k':
            write_kinds(stdout);
            exit(0);
        default:
            return false;
        }
    }
    options->program = words + optind;
    bool power = options->buffer && !(options->buffer & (options->buffer - 1));
    return options->out && (options->recheck || *options->program) && power &&
           options->buffer <= CHANNEL_MOST_BUFFER && options->workers &&
           options->workers <= CHANNEL_MOST_WORKERS && (!options->model || model_of(options->model));
}

int main(int count, char **words) {
    struct options options = {.workers = 1, .buffer = CHANNEL_BUFFER};
    if (!parse(count, words, &options))
        return USAGE;
    parent = options.parent;
    if (parent && !end_with(parent, SIGTERM))
        return 1;
    int descriptor = channel_create(options.buffer);
    struct channel *channel = descriptor < 0 ? NULL : channel_map(descriptor);
    FILE *out = channel ? fopen(options.out, "we") : NULL;
    if (!out) {
        perror("powercut-checker");
        return 1;
    }
    channel->workers = options.workers;
    if (options.model)
        strcpy(channel->model, options.model);
    struct ending ending = {.trouble = ""};
    if (options.recheck) {
        const char *wrong = trace_check(options.recheck, channel);
        ending.trouble = wrong ? wrong : "";
    } else {
        ending = run(&options, channel, descriptor);
    }
    if (!channel->model[0])
        strcpy(channel->model, models[0]->name);
    write_outcome(out, channel, &ending);
    return fclose(out) == 0 ? 0 : 1;
}

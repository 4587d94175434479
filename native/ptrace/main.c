/* powercut-ptrace: runs a program, or attaches to a stopped one, and writes the trace of what it does to its
 * data folder.
 *
 * Exit codes: 0 the program ran to its end, however it ended; 125 the tracer failed; 126 and 127 the program
 * could not be executed or found; 123 layers cannot do what it tried (--work); 124 it mapped a data file for
 * writing (--stop-at-mapping); 130 interrupted. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "added_syncs/added.h"
#include "looks/looks.h"
#include "stacks/capture.h"
#include "start.h"
#include "trace/ignored.h"
#include "trace/recorder.h"
#include "trace/snapshot.h"
#include "tracer.h"
#include "valgrind/processes.h"
#include "view.h"

enum { EXIT_STUCK = 123, EXIT_MAPPED = 124, EXIT_TRACER = 125, EXIT_INTERRUPTED = 130 };

struct options {
    const char *output, *dir, *view;
    const char *work;        /* with it, `view` is the upper layer of an overlay; NULL: a copy */
    const char *original;    /* the user's folder, if `dir` is a copy of it at another path */
    const char *memory_tool; /* NULL: stores are not traced */
    struct pc_ignored ignored;
    const char *added; /* a plan of syncs to put in; NULL: none */
    struct pc_grind_board boards[PC_GRIND_BOARDS];
    pid_t attach; /* 0: start a program */
    pid_t parent; /* we end when it does; 0: nobody in particular */
    bool no_stacks;
    bool no_shortcuts;
    bool stop_at_mapping;
    bool looks; /* record what the program looks at, instead */
    struct pc_start start;
};

static void __attribute__((noreturn, format(printf, 2, 3))) die(int code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("powercut-ptrace: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(code);
}

static pid_t parse_pid(const char *option, const char *text) {
    char *end;
    long value = strtol(text, &end, 10);
    if (*text == '\0' || *end != '\0' || value <= 0 || value > INT_MAX)
        die(EXIT_TRACER, "%s needs a process id, not '%s'", option, text);
    return (pid_t)value;
}

/* NAME=N, where N is a descriptor that we inherited. */
static void add_board(struct options *options, const char *text) {
    struct pc_grind_board *free = options->boards, *end = free + PC_GRIND_BOARDS;
    const char *equals = strchr(text, '=');
    while (free < end && free->name != NULL)
        free++;
    if (equals == NULL || free == end)
        die(EXIT_TRACER, "--board needs NAME=DESCRIPTOR, at most %d times, not '%s'", PC_GRIND_BOARDS, text);
    free->name = strndup(text, (size_t)(equals - text));
    free->descriptor = atoi(equals + 1);
    if (free->name == NULL || fcntl(free->descriptor, F_GETFD) < 0)
        die(EXIT_TRACER, "--board %s: no open file has that number", text);
}

static struct options parse_options(int argc, char **argv) {
    static const struct option known[] = {
        {"output", required_argument, NULL, 'o'},
        {"dir", required_argument, NULL, 'd'},
        {"view", required_argument, NULL, 'v'},
        {"cwd", required_argument, NULL, 'c'},
        {"stdout", required_argument, NULL, '1'},
        {"stderr", required_argument, NULL, '2'},
        {"no-stacks", no_argument, NULL, 'n'},
        {"attach", required_argument, NULL, 'a'},
        {"no-shortcuts", no_argument, NULL, 's'},
        {"memory-tool", required_argument, NULL, 'm'},
        {"stop-at-mapping", no_argument, NULL, 'p'},
        {"board", required_argument, NULL, 'b'},
        {"looks", no_argument, NULL, 'l'},
        {"original", required_argument, NULL, 'r'},
        {"added", required_argument, NULL, 'x'},
        {"parent", required_argument, NULL, 'P'},
        {"work", required_argument, NULL, 'w'},
        {"ignore", required_argument, NULL, 'i'},
        {NULL, 0, NULL, 0},
    };
    struct options options = {0};
    int letter;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "+", known, NULL)) != -1) {
        switch (letter) {
        case 'o':
            options.output = optarg;
            break;
        case 'd':
            options.dir = optarg;
            break;
        case 'v':
            options.view = optarg;
            break;
        case 'w':
            options.work = optarg;
            break;
        case 'i':
            if (!pc_ignored_add(&options.ignored, optarg))
                die(EXIT_TRACER, "--ignore can be given %d times at most", PC_PATTERNS);
            break;
        case 'r':
            options.original = optarg;
            break;
        case 'x':
            options.added = optarg;
            break;
        case 'c':
            options.start.cwd = optarg;
            break;
        case '1':
            options.start.out_path = optarg;
            break;
        case '2':
            options.start.err_path = optarg;
            break;
        case 'n':
            options.no_stacks = true;
            break;
        case 's':
            options.no_shortcuts = true;
            break;
        case 'm':
            options.memory_tool = optarg;
            break;
        case 'p':
            options.stop_at_mapping = true;
            break;
        case 'b':
            add_board(&options, optarg);
            break;
        case 'l':
            options.looks = true;
            break;
        case 'a':
            options.attach = parse_pid("--attach", optarg);
            break;
        case 'P':
            options.parent = parse_pid("--parent", optarg);
            break;
        default:
            die(EXIT_TRACER, "unknown option or missing value: %s", argv[optind - 1]);
        }
    }
    options.start.argv = argv + optind;
    if (options.output == NULL || options.dir == NULL || options.dir[0] != '/')
        die(EXIT_TRACER, "--output FILE and --dir DIR (absolute) are required");
    if ((options.attach == 0) == (argv[optind] == NULL))
        die(EXIT_TRACER, "give either a program after -- or --attach PID");
    if (options.attach != 0 && options.memory_tool != NULL)
        die(EXIT_TRACER, "--memory-tool does not work with --attach");
    return options;
}

/* Whoever started us may be killed: then the program ends, too, which never outlives us. The signal is asked
 * for first: a parent that ended before that is not our parent any more. */
static void end_with(pid_t parent) {
    if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0)
        die(EXIT_TRACER, "cannot end with process %d: %s", parent, strerror(errno));
    if (getppid() != parent)
        exit(EXIT_TRACER);
}

/* Each traced thread costs a descriptor. Done after the program is forked, which keeps its own limit. */
static void raise_descriptor_limit(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void write_command(struct pc_recorder *recorder, char **argv) {
    char text[65536];
    size_t length = 0;
    for (; *argv != NULL && length + strlen(*argv) + 1 < sizeof(text); argv++) {
        if (length > 0)
            text[length++] = '\0';
        memcpy(text + length, *argv, strlen(*argv));
        length += strlen(*argv);
    }
    pc_meta(recorder, "command", text, length);
}

static void write_meta(struct pc_recorder *recorder, const struct options *options) {
    char text[64];
    write_command(recorder, options->start.argv);
    pc_meta(recorder, "cwd", options->start.cwd, strlen(options->start.cwd));
    pc_meta(recorder, "dir", options->dir, strlen(options->dir));
    const char *tracer = options->memory_tool != NULL ? "grind 1" : "ptrace 1";
    pc_meta(recorder, "tracer", tracer, strlen(tracer));
    snprintf(text, sizeof(text), "%lld", (long long)time(NULL));
    pc_meta(recorder, "started", text, strlen(text));
}

static void write_exit(struct pc_recorder *recorder, int status) {
    char text[64] = "unknown";
    if (status != -1 && WIFEXITED(status))
        snprintf(text, sizeof(text), "exited %d", WEXITSTATUS(status));
    else if (status != -1 && WIFSIGNALED(status))
        snprintf(text, sizeof(text), "signaled %d", WTERMSIG(status));
    pc_meta(recorder, "exit", text, strlen(text));
}

/* What the trace leaves out: by which patterns, how much of it was changed, and the first of that. */
static void write_ignored(struct pc_recorder *recorder, const struct pc_ignored *ignored) {
    char text[65536];
    size_t length = 0;
    for (unsigned i = 0; i < ignored->count; i++) {
        size_t size = strlen(ignored->patterns[i]);
        if (length + size + 1 > sizeof(text))
            break;
        memcpy(text + length, ignored->patterns[i], size + 1);
        length += size + 1;
    }
    if (length > 0)
        pc_meta(recorder, "ignore", text, length - 1);
    if (ignored->seen.count == 0)
        return;
    length = (size_t)snprintf(text, sizeof(text), "%zu %s", ignored->seen.count, ignored->first);
    pc_meta(recorder, "ignored", text, length);
}

/* Looks at the user's folder while its path still leads there, not to the copy. */
static void look_at_original(struct pc_recorder *recorder, const struct options *options) {
    const char *original = options->original != NULL ? options->original : options->dir;
    int error = pc_recorder_original(recorder, original);
    if (error != 0)
        die(EXIT_TRACER, "cannot read the data folder %s: %s", original, strerror(error));
}

/* Looks at the data folder before the program runs. */
static void look_at_folder(struct pc_recorder *recorder, const struct options *options) {
    const char *dir = options->dir;
    char real[PATH_MAX];
    if (realpath(dir, real) != NULL && strcmp(real, dir) != 0)
        die(EXIT_TRACER, "--dir must be a canonical path: %s instead of %s", real, dir);
    int error = pc_recorder_start(recorder, dir);
    /* What the program touches of a folder below an overlay is still there when the program has ended. */
    if (error == 0 && options->work == NULL)
        error = pc_snapshot(recorder);
    if (error != 0)
        die(EXIT_TRACER, "cannot read the data folder %s: %s", dir, strerror(error));
}

/* Shows the program the copy, or the layers, at the folder's own path. */
static int enter(const struct options *options, char *error, size_t size) {
    if (options->work == NULL)
        return pc_enter_view(options->view, options->dir, error, size);
    return pc_enter_layers(options->view, options->work, options->dir, error, size) < 0;
}

/* Gets the program to where it will run, traced, at the next pc_start_go. */
static void prepare(struct pc_recorder *recorder, struct options *options) {
    char error[PATH_MAX + 256];
    int failed;
    look_at_original(recorder, options);
    if (options->attach != 0) {
        failed = pc_start_attach(&options->start, options->attach, error, sizeof(error));
    } else {
        failed = pc_start_outputs(&options->start, error, sizeof(error));
        if (failed == 0 && options->view != NULL)
            failed = enter(options, error, sizeof(error));
    }
    if (failed != 0)
        die(EXIT_TRACER, "%s", error);
    look_at_folder(recorder, options);
    if (options->memory_tool != NULL) {
        recorder->grind =
            pc_grind_open(recorder, options->memory_tool, options->boards, error, sizeof(error));
        if (recorder->grind == NULL)
            die(EXIT_TRACER, "%s", error);
        options->start.command = pc_grind_command(recorder->grind, options->start.argv);
        if (options->start.command == NULL)
            die(EXIT_TRACER, "out of memory");
        pc_grind_inherit(recorder->grind, options->start.kept);
    }
    if (options->attach == 0 && pc_start_fork(&options->start, error, sizeof(error)) != 0)
        die(EXIT_TRACER, "%s", error);
    pc_start_identify(&options->start, recorder->out);
}

/* In a view the folder is a mount point, which the program can neither move nor remove. What the machine
 * mounts over a folder above it comes into the view, too, and hides the copy: the program may have gone
 * astray. */
static bool is_hidden(const struct pc_recorder *recorder, const struct options *options) {
    bool in_view = options->view != NULL || (options->attach != 0 && options->original == NULL);
    return in_view && !pc_recorder_finds_dir(recorder);
}

/* Ends the trace; the exit code of the whole. */
static int finish(struct pc_recorder *recorder, struct options *options, struct pc_run run) {
    char error[PATH_MAX + 256];
    int code = pc_start_failure(&options->start, error, sizeof(error));
    write_ignored(recorder, &options->ignored);
    write_exit(recorder, run.status);
    int lost = pc_writer_close(recorder->writer);
    pc_number_set_free(&recorder->inodes);
    pc_number_set_free(&recorder->notes);
    pc_number_set_free(&recorder->synced_outside);
    if (lost != 0)
        die(EXIT_TRACER, "cannot write %s: %s", options->output, strerror(lost));
    if (code != 0)
        die(code, "%s", error);
    if (run.end == PC_RUN_MAPPED)
        return EXIT_MAPPED;
    if (run.end == PC_RUN_STUCK)
        return EXIT_STUCK;
    if (run.end == PC_RUN_ENDED && is_hidden(recorder, options))
        die(EXIT_TRACER, "another file system was mounted over %s while the program ran", options->dir);
    return run.end == PC_RUN_INTERRUPTED ? EXIT_INTERRUPTED : 0;
}

/* The device of the folder that a file is in. */
static dev_t device_of_folder(const char *path, dev_t otherwise) {
    char folder[PATH_MAX];
    struct stat status;
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        slash[1] = '\0';
    return slash != NULL && stat(folder, &status) == 0 ? status.st_dev : otherwise;
}

/* --looks: the same for what a program looks at. */
static int record_looks(struct pc_recorder *recorder, const struct options *options) {
    int status = -1, error = pc_recorder_start(recorder, options->dir);
    if (error != 0)
        die(EXIT_TRACER, "cannot read the data folder %s: %s", options->dir, strerror(error));
    recorder->beside_dev = device_of_folder(options->output, recorder->dir_dev);
    pc_looks_start(recorder);
    error = pc_looks_run(recorder, options->memory_tool, options->start.argv, options->start.cwd, &status);
    if (error != 0)
        die(EXIT_TRACER, "cannot watch the program: %s", strerror(error));
    write_exit(recorder, status);
    error = pc_writer_close(recorder->writer);
    if (error != 0)
        die(EXIT_TRACER, "cannot write %s: %s", options->output, strerror(error));
    return 0;
}

int main(int argc, char **argv) {
    char error[PATH_MAX + 256], cwd[PATH_MAX];
    struct pc_recorder recorder = {0};
    struct options options = parse_options(argc, argv);
    if (options.parent != 0)
        end_with(options.parent);
    /* A limit on file sizes must be an error of the writer, not the end of us. */
    options.start.large_files = signal(SIGXFSZ, SIG_IGN);
    recorder.writer = pc_writer_open(options.output, error, sizeof(error));
    if (recorder.writer == NULL)
        die(EXIT_TRACER, "%s", error);
    /* By name, so that in a view it means the folder as seen there. */
    if (options.start.cwd == NULL)
        options.start.cwd = pc_start_cwd(options.attach, cwd, sizeof(cwd));
    if (options.looks)
        return record_looks(&recorder, &options);
    recorder.shortcuts = !options.no_shortcuts;
    recorder.stop_at_mapping = options.stop_at_mapping;
    recorder.layered = options.work != NULL;
    recorder.ignored = &options.ignored;
    if (!options.no_stacks)
        recorder.stacks = pc_stacks_new(recorder.writer);
    if (options.added != NULL && recorder.stacks != NULL) {
        recorder.added = pc_added_open(options.added, error, sizeof(error));
        if (recorder.added == NULL)
            die(EXIT_TRACER, "%s", error);
        pc_stacks_keep_names(recorder.stacks);
    }
    write_meta(&recorder, &options);
    prepare(&recorder, &options);
    raise_descriptor_limit();
    pc_start_go(&options.start);
    struct pc_run run = pc_tracer_run(&recorder, options.start.pid);
    if (recorder.grind != NULL)
        pc_grind_free(recorder.grind);
    if (recorder.stacks != NULL)
        pc_stacks_free(recorder.stacks);
    if (recorder.added != NULL)
        pc_added_free(recorder.added);
    return finish(&recorder, &options, run);
}

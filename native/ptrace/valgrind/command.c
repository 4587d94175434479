/* Before: a program with its arguments. After: the same behind the tool and its options, and "--". The tool
 * hands its options on when the program executes another (grind/program.c), without the "--". */
#define _GNU_SOURCE
#include "valgrind/command.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "start.h"

/* The ticket lock of Valgrind's scheduler (--fair-sched) uses futexes; the other one writes to a pipe, and
 * each write would be a stop. */
static const char *const fixed[] = {
    "--command-line-only=yes", "-q", "--vgdb=no", "--sigill-diagnostics=no", "--trace-children=yes",
    "--fair-sched=try"};

enum { FIXED = sizeof(fixed) / sizeof(fixed[0]), OWN = 4 /* the tool, three options */ };

static char *option(const char *name, int value) {
    char *text;
    return asprintf(&text, "--%s=%d", name, value) < 0 ? NULL : text;
}

char **pc_tool_command(const char *tool, const char *const *options, char **argv) {
    size_t own = 0, count = 0, at = 0;
    while (options[own] != NULL)
        own++;
    while (argv[count] != NULL)
        count++;
    char **command = calloc(1 + FIXED + own + 1 + count + 1, sizeof(*command));
    if (command == NULL)
        return NULL;
    command[at++] = (char *)tool;
    for (size_t i = 0; i < FIXED; i++)
        command[at++] = (char *)fixed[i];
    for (size_t i = 0; i < own; i++)
        command[at++] = (char *)options[i];
    command[at++] = "--";
    memcpy(command + at, argv, count * sizeof(*argv));
    return command;
}

char **pc_grind_make_command(const struct pc_grind_options *options, char **argv) {
    char *channel = option("channel", options->channel);
    char *messages = option("messages", options->messages);
    const char *own[OWN + PC_GRIND_BOARDS + 1] = {"--tool=powercut-grind", channel, messages,
                                                  options->stacks ? "--stacks=yes" : "--stacks=no"};
    if (channel == NULL || messages == NULL)
        return NULL; /* the program is not going to be run: nothing need be freed */
    for (size_t i = 0; i < PC_GRIND_BOARDS && options->boards[i].name != NULL; i++)
        if ((own[OWN + i] = option(options->boards[i].name, options->boards[i].descriptor)) == NULL)
            return NULL;
    return pc_tool_command(options->tool, own, argv);
}

/* What stands in the command line for the program: the first word that is no option, or said in one. */
static const char *named_program(const char *line, size_t length) {
    static const char said[] = "--program-file=/";
    const char *word = line + strlen(line) + 1, *instead = NULL;
    for (; word < line + length && word[0] == '-'; word += strlen(word) + 1)
        if (strncmp(word, said, sizeof(said) - 1) == 0)
            instead = word + sizeof(said) - 2;
    return instead != NULL ? instead : word < line + length ? word : NULL;
}

void pc_grind_read_command(pid_t tgid, char *program, size_t size) {
    char name[64], line[8192], found[PATH_MAX], path[2 * PATH_MAX], real[PATH_MAX];
    snprintf(name, sizeof(name), "/proc/%d/cmdline", tgid);
    int file = open(name, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, line, sizeof(line) - 1);
    if (file >= 0)
        close(file);
    line[length < 0 ? 0 : length] = '\0';
    const char *word = length < 0 ? NULL : named_program(line, (size_t)length);
    if (word == NULL)
        return;
    if (strchr(word, '/') != NULL || !pc_start_find(word, found, sizeof(found)))
        snprintf(found, sizeof(found), "%s", word);
    if (found[0] == '/')
        snprintf(path, sizeof(path), "%s", found);
    else
        snprintf(path, sizeof(path), "/proc/%d/cwd/%s", tgid, found);
    snprintf(program, size, "%s", realpath(path, real) != NULL ? real : word);
}

/* The command line of the Valgrind tool: made for the first program, and read where the tool has executed
 * itself in place of another. */
#ifndef POWERCUT_VALGRIND_COMMAND_H
#define POWERCUT_VALGRIND_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PC_GRIND_BOARDS = 2 };

/* A file in memory by which powercut and a mode of the tool talk: --NAME=N, as the tool gets it. */
struct pc_grind_board {
    const char *name; /* NULL: none */
    int descriptor;
};

struct pc_grind_options {
    const char *tool;      /* its path */
    int channel, messages; /* descriptors that it inherits */
    bool stacks;
    struct pc_grind_board boards[PC_GRIND_BOARDS];
};

/* The command that runs a program in a Valgrind tool with options of its own, NULL behind them; NULL if there
 * is no memory. To be kept until it is run. */
char **pc_tool_command(const char *tool, const char *const *options, char **argv);

/* The same for the memory tracer. */
char **pc_grind_make_command(const struct pc_grind_options *options, char **argv);

/* The absolute path of the program that process `tgid`, whose image is the tool, will run. Left as it is if
 * that cannot be told. */
void pc_grind_read_command(pid_t tgid, char *program, size_t size);

#endif

/* Getting the program to be traced: forking one, or attaching to one that waits. */
#ifndef POWERCUT_START_H
#define POWERCUT_START_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Zeroed, then filled in by the options. Functions that can fail return 0 or -1 with the reason in `error`.
 */
enum { PC_KEPT = 4 };

struct pc_start {
    char **argv;
    char **command;       /* what runs the program; NULL: it runs by itself */
    int kept[PC_KEPT];    /* descriptors for that, open after exec; 0: none */
    const char *cwd;      /* where the program starts */
    const char *out_path; /* NULL: inherited */
    const char *err_path;
    void (*large_files)(int); /* what it does at SIGXFSZ, which we ignore */

    pid_t pid;       /* of the program, seized */
    int attached;    /* it was running before us */
    int out, err;    /* descriptors for its 1 and 2, 0: inherited */
    int go, failure; /* our ends of the pipes to the child: it waits for the one and reports on the other */
};

/* The path of a program, as execvp would find it; false, with errno, if it would not. */
bool pc_start_find(const char *name, char *path, size_t size);

/* Opens the files for stdout and stderr. To be called before the view is entered. */
int pc_start_outputs(struct pc_start *start, char *error, size_t size);

/* Forks and seizes a child that will run the program, once pc_start_go is called. */
int pc_start_fork(struct pc_start *start, char *error, size_t size);

/* Seizes the stopped process and enters its mount namespace. It goes on at pc_start_go. */
int pc_start_attach(struct pc_start *start, pid_t pid, char *error, size_t size);

/* What the program's descriptors 1 and 2 are, in out[1] and out[2]. */
void pc_start_identify(const struct pc_start *start, struct stat out[3]);

void pc_start_go(struct pc_start *start);

/* 0 if the program was executed, else the exit code for that (126, 127), with the reason in `error`. */
int pc_start_failure(struct pc_start *start, char *error, size_t size);

/* The current folder of process `pid` (0: our own), in `text`. */
const char *pc_start_cwd(pid_t pid, char *text, size_t size);

#endif

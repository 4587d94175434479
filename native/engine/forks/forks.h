/* A fork server for checks: the check is started once, up to the first call whose outcome could depend on the
 * image or change anything outside the process. There it stays, as the zygote, and each state is judged by a
 * fork of it, which goes on with just that call.
 *
 * What a zygote has done by then, every run of the check would have done alike: it has read files outside the
 * data folder, asked for names in the folder that did not exist (each fork asks whether they still do not),
 * and changed nothing but its own memory. It is one process with one thread, holds no file that it could
 * write into, and has not asked for its own number. Whatever is not known to be harmless counts as that call.
 */
#ifndef POWERCUT_FORKS_H
#define POWERCUT_FORKS_H

#include "../spawn.h" /* first: it asks for what only Linux has */

#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/user.h>

#define PC_MOST_ABSENT 64
#define PC_MOST_FILES  16
#define PC_REASON      200

/* Where the check must not have looked before it is forked. Both paths without symbolic links. */
struct pc_private {
    const char *folder;  /* the image */
    const char *scratch; /* what the program had said, in files */
};

/* What a name stands for, as far as that matters here. */
enum pc_standing {
    PC_OUTSIDE, /* nothing of the image had a say in it */
    PC_FOLDER,  /* the data folder itself, which every image has */
    PC_ABSENT,  /* nothing, in the image */
    PC_SELF,    /* something of the process itself, below /proc */
    PC_INSIDE,  /* something in the image */
};

struct pc_walked {
    enum pc_standing standing;
    char path[PATH_MAX]; /* PC_OUTSIDE: of the file, if it is there; PC_ABSENT: what is not there */
    bool exists;
};

/* Follows a name as the process with that number means it. Does not touch the process. */
void pc_walk(const struct pc_private *place, pid_t pid, int dirfd, const char *name, bool follow,
             struct pc_walked *walked);

/* What a call of a check that has not been forked yet would do. */
enum pc_call {
    PC_HARMLESS, /* nothing that another run would notice */
    PC_ABSENCE,  /* harmless as long as walked.path does not exist */
    PC_LOOK,     /* harmless as long as the data folder itself stays as it is */
    PC_IDENTITY, /* learn which process it is: harmless if it executes another program before it is forked */
    PC_FORKING,  /* start a process: harmless if that has ended before the fork */
    PC_CALL_END, /* of the process */
    PC_FORK_POINT,
};

struct pc_stop {
    uint64_t number;
    uint64_t args[6];
    uint64_t rip;
};

enum pc_call pc_judge_call(const struct pc_private *place, pid_t pid, const struct pc_stop *stop,
                           struct pc_walked *walked);

/* A file that the zygote reads: all forks share its position, so that is put back before each. */
struct pc_held_file {
    int fd; /* ours */
    off_t position;
};

struct pc_zygote {
    pid_t pid; /* 0: there is none */
    uint64_t stub;
    struct user_regs_struct regs;
    cpu_set_t processors; /* where forks may run; empty if that is not known */
    cpu_set_t ours;       /* where we may, while `shared` */
    int processor;        /* where it is kept; -1: anywhere */
    bool shared;          /* we are kept there, too */
    struct stat folder;   /* the data folder as it was */
    struct stat output;   /* the file that it was given to print into */
    bool looked;          /* at that */
    struct pc_held_file files[PC_MOST_FILES];
    int file_count;
    char *absent[PC_MOST_ABSENT];
    int absent_count;
    bool lenient;    /* it may look at the data folder itself, and for names that are missing there */
    int strict_from; /* in which program, counted by executions, it is forked before it learns what it is */
    char reason[PC_REASON]; /* why there is none; or the call before which it waits */
};

/* Starts the program and brings it to the point; false with a reason. At most until `deadline`. */
bool pc_zygote_start(struct pc_zygote *zygote, struct pc_launch *launch, const struct pc_private *place,
                     double deadline);

/* A fork of it, which runs, or 0: the zygote does not fit this image; -1: it fits none any more. In any case
 * pc_zygote_leave must follow, once the fork has ended. */
pid_t pc_zygote_fork(struct pc_zygote *zygote, const struct pc_private *place);

/* We may run on any processor again. */
void pc_zygote_leave(struct pc_zygote *zygote);

/* Ends it and forgets all. Safe to call again. */
void pc_zygote_end(struct pc_zygote *zygote);

#endif

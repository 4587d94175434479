/* A traced thread and the call it is in. Plain data: the tracer moves threads between states, the decoders
 * (calls/) fill in the call. */
#ifndef POWERCUT_THREAD_H
#define POWERCUT_THREAD_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/user.h>

/* A name as a call means it: last component in its real parent folder. */
struct pc_place {
    int parent;   /* O_PATH descriptor of the parent folder, -1: none */
    bool known;   /* the parent folder could be resolved */
    bool inside;  /* the name lies in the data folder */
    bool exists;  /* ... and stood for something when looked at, described by `status` (lstat) */
    bool unnamed; /* given by descriptor: there is no name */
    struct stat status;
    char last[NAME_MAX + 1];
    char path[PATH_MAX]; /* absolute and canonical; "" if not known */
};

struct pc_call {
    const struct pc_call_kind *kind; /* NULL: in no call that is followed */
    int number;
    uint64_t arg[6];
    int64_t result;

    int fd;             /* duplicate or O_PATH descriptor of the file the call is about, -1: none */
    int source;         /* the same for the file data comes from, -1: none */
    int open_flags;     /* F_GETFL of fd */
    struct stat status; /* of fd at the entry */
    uint32_t channel;   /* enum pc_channel, 0: no output */
    uint64_t flags;     /* of the call, in the form its decoder likes */
    bool existed;       /* open: the file was there at the entry, and is described by `status` */
    struct pc_place from;
    struct pc_place to;

    bool has_stack;
    uint32_t stack;
};

enum pc_thread_state {
    PC_RUNNING = 0,
    PC_NEW,     /* stopped at birth, until the parent's fork event tells who it is */
    PC_QUEUED,  /* stopped at the entry of a call, until the call in flight has ended */
    PC_IN_CALL, /* let into a followed call, to stop at its exit */
};

struct pc_thread {
    pid_t tid;
    pid_t tgid;
    int pidfd; /* -1: not opened yet */
    enum pc_thread_state state;
    uint64_t born; /* PC_NEW: milliseconds */
    unsigned slot; /* in the page shared with the memory tracer; a guess */
    struct pc_thread *next_in_bucket;
    struct pc_thread *next_in_queue;
    struct user_regs_struct regs; /* as they were at the entry of the call */
    struct pc_call call;
};

#endif

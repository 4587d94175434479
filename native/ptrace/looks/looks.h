/* What a program looks at in the data folder: names, bytes, sizes, listings, attributes.
 *
 * Everything is written down at the entry of a call, before it runs: as much as the call could see, never
 * less. What is not understood gives a note, and such a trace says nothing about what was not looked at. */
#ifndef POWERCUT_LOOKS_LOOKS_H
#define POWERCUT_LOOKS_LOOKS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "remote/remote.h"
#include "trace/recorder.h"

/* Installs a filter on the calling thread that lets calls through which cannot look at files, or whose sixth
 * argument is a secret, and asks the owner of the listener about all others. The listener, or -errno. */
int pc_install_looks_filter(uint64_t secret);

/* Runs the program to its end, with all looks in the trace; 0 or errno, and its wait status. With a `tool`
 * (powercut-loads), of mapped files words are seen and not only pages. */
int pc_looks_run(struct pc_recorder *recorder, const char *tool, char **argv, const char *cwd, int *status);

/* Whether names are walked outside the data folder's mount without a look at each: see looks/path_walk.c. */
void pc_looks_start(struct pc_recorder *recorder);

/* Writes the looks of the call that the thread is about to do: call.number and call.arg. */
void pc_look_call(struct pc_recorder *recorder, struct pc_thread *thread);

/* What of a file is seen, beside its being there. */
enum pc_seen {
    PC_SEEN_FACTS = 1,
    PC_SEEN_LIST = 2,
    PC_SEEN_ATTRIBUTES = 4,
    PC_SEEN_UNSURE = 8,
};

/* The same for the calls of one shape; false: the call has none of them. */
bool pc_look_by_shape(struct pc_recorder *recorder, struct pc_thread *thread);

/* A duplicate of a descriptor of the thread (close it), and what it is; -1 if it is of no file or folder. */
int pc_look_fd(struct pc_recorder *recorder, struct pc_thread *thread, int fd, struct stat *status);
/* A look through a descriptor of the thread. */
void pc_look_at_fd(struct pc_recorder *recorder, struct pc_thread *thread, int fd, unsigned seen);
/* A look at what the name at an address stands for; without a name, at the descriptor itself. */
void pc_look_at_name(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t address,
                     unsigned seen);
/* Reads a name of PATH_MAX bytes at most; false, with a note, if there is none to be read. */
bool pc_look_peek(struct pc_recorder *recorder, struct pc_thread *thread, uint64_t address, char *name);

/* What a name stands for. */
struct pc_looked {
    int fd;             /* O_PATH descriptor (close it), -1: nothing there, or nothing that matters */
    struct stat status; /* of fd */
};

/* Follows a name, symbolic links included, and writes a PC_LOOK_NAME for each step that matters. */
void pc_look_walk(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name,
                  struct pc_looked *looked);

/* The current folder is about to change. */
void pc_look_moved(struct pc_recorder *recorder);

/* The files that executing one looks at: itself, interpreters, the loader. */
void pc_look_exec(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name);

/* A look at the file of this status, if it can lie in the data folder. */
void pc_look(struct pc_recorder *recorder, const struct stat *status, enum pc_event_kind kind,
             uint64_t offset, uint64_t length);

#define PC_LOOK_ALL (UINT64_MAX >> 1) /* length: to the end, wherever that is */

#endif

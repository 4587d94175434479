/* What is known about the recording as a whole: the data folder, the files seen in it, the outputs; and the
 * small steps every decoder needs to turn a finished call into events. */
#ifndef POWERCUT_TRACE_RECORDER_H
#define POWERCUT_TRACE_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "number_set.h"
#include "thread.h"
#include "trace/writer.h"
#include "trace_format.h"

struct pc_added;
struct pc_grind;
struct pc_ignored;
struct pc_mappings;
struct pc_stacks;
struct pc_threads;

struct pc_recorder {
    struct pc_writer *writer;
    struct pc_stacks *stacks;   /* NULL: no stacks wanted */
    struct pc_grind *grind;     /* NULL: stores are not traced */
    struct pc_added *added;     /* syncs that are put in; NULL: none */
    struct pc_ignored *ignored; /* names that are no data; NULL: none */
    const struct pc_threads *threads;
    dev_t beside_dev; /* looks: of the files beside the data folder, whose inodes are none of it */
    bool several;     /* looks: the program has started another thread or process */
    bool own_mount;   /* looks: the data folder can be reached only across a mount point */
    int root, cwd;    /* looks: the program's root and current folder, O_PATH; -1: not opened */
    struct pc_mappings *mappings; /* looks: NULL: mapped pages are not followed */
    pid_t program;                /* looks: the process whose end is the end */
    int ended;                    /* looks: its wait status, if that was taken early; -1: it was not */
    bool stop_at_mapping;         /* end the program as soon as it maps a data file for writing */
    bool mapped;                  /* it did */
    bool layered;                 /* the data folder is an overlay, of which some cannot move folders */
    bool stuck;                   /* the program tried that: it would have worked in the folder itself */
    bool shortcuts;               /* plain writes may be done in the program's place: pc_emulate_write */
    const char *dir;              /* canonical path of the data folder, as the program sees it */
    size_t dir_length;
    dev_t dir_dev;
    ino_t dir_ino;
    dev_t original_dev;          /* of the user's own folder, for which `dir` stands: pc_recorder_original */
    struct pc_number_set inodes; /* of dir_dev, known to lie in the data folder and to have a name there */
    struct pc_number_set synced_outside; /* versions of files on original_dev: calls/border.c */
    struct timespec all_synced;          /* when everything was synced last */
    struct pc_number_set notes;          /* hashes of the notes written, so that each is said once */
    struct stat out[3];                  /* what descriptors 1 and 2 were at the start; st_nlink 0: nothing */
};

/* Looks at the data folder; 0 or errno. `dir` must outlive the recorder. */
int pc_recorder_start(struct pc_recorder *recorder, const char *dir);

/* Looks at the user's own folder, of which the program gets a copy; 0 or errno. To be called before the copy
 * is shown in its place. */
int pc_recorder_original(struct pc_recorder *recorder, const char *original);

/* Whether the data folder is still found at its path. */
bool pc_recorder_finds_dir(const struct pc_recorder *recorder);

/* Where `path` (absolute, canonical) lies below the data folder: "" for the folder itself, NULL: outside, or
 * ignored. */
const char *pc_below_dir(const struct pc_recorder *recorder, const char *path);

/* Whether the file behind a descriptor of the tracer lies in the data folder. `status` is its fstat. */
bool pc_fd_inside(struct pc_recorder *recorder, int fd, const struct stat *status);

/* The path behind a descriptor of the tracer; false if it cannot be told. */
bool pc_fd_path(int fd, char *path, size_t size);

/* An event of this thread's call, with its stack, to be completed and given to pc_emit. */
struct pc_event pc_event_of(struct pc_recorder *recorder, struct pc_thread *thread, enum pc_event_kind kind);
void pc_emit(struct pc_recorder *recorder, const struct pc_event *event);

/* Whether looks at files of a device count. */
static inline bool pc_looks_at(const struct pc_recorder *recorder, dev_t device) {
    return device == recorder->dir_dev || device == recorder->beside_dev;
}

/* Who owns a file, as events have it. */
static inline uint64_t pc_owner(const struct stat *status) {
    return status->st_uid | (uint64_t)status->st_gid << 32;
}

/* The interned id of a path or name. */
uint32_t pc_name(struct pc_recorder *recorder, const char *bytes);

/* Tells the user something, once for each different text. `thread` may be NULL. */
void pc_note(struct pc_recorder *recorder, struct pc_thread *thread, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A META entry; `value` may hold NUL bytes. */
void pc_meta(struct pc_recorder *recorder, const char *key, const char *value, size_t length);

#endif

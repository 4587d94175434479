/* Before: a recorder whose writer is open. After each call: the event or note is in the trace, or the writer
 * holds the error, which the tracer's loop looks at. */
#define _GNU_SOURCE
#include "trace/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "added_syncs/added.h"
#include "stacks/capture.h"
#include "trace/ignored.h"
#include "valgrind/processes.h"

/* File systems whose writes never wait for another process, so that the tracer may do them. FUSE is the one
 * that matters: its server may be a process that we hold stopped. */
static bool is_local(const char *dir) {
    static const unsigned long local[] = {EXT4_SUPER_MAGIC,     XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
                                          TMPFS_MAGIC,          F2FS_SUPER_MAGIC, RAMFS_MAGIC,
                                          OVERLAYFS_SUPER_MAGIC};
    struct statfs status;
    if (statfs(dir, &status) != 0)
        return false;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        if ((unsigned long)status.f_type == local[i])
            return true;
    }
    return false;
}

int pc_recorder_start(struct pc_recorder *recorder, const char *dir) {
    struct stat status;
    if (stat(dir, &status) != 0)
        return errno;
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    recorder->dir = dir;
    /* "/" as the data folder: every absolute path is below it. */
    recorder->dir_length = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    recorder->dir_dev = status.st_dev;
    recorder->dir_ino = status.st_ino;
    recorder->shortcuts = recorder->shortcuts && is_local(dir);
    return 0;
}

bool pc_recorder_finds_dir(const struct pc_recorder *recorder) {
    struct stat status;
    return stat(recorder->dir, &status) == 0 && status.st_dev == recorder->dir_dev &&
           status.st_ino == recorder->dir_ino;
}

int pc_recorder_original(struct pc_recorder *recorder, const char *original) {
    struct stat status;
    if (stat(original, &status) != 0)
        return errno;
    recorder->original_dev = status.st_dev;
    return 0;
}

const char *pc_below_dir(const struct pc_recorder *recorder, const char *path) {
    size_t length = recorder->dir_length;
    if (strncmp(path, recorder->dir, length) != 0)
        return NULL;
    if (path[length] == '\0')
        return path + length;
    if (path[length] != '/' || pc_is_ignored(recorder->ignored, path + length + 1))
        return NULL;
    return path + length + 1;
}

bool pc_fd_path(int fd, char *path, size_t size) {
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, size);
    if (length <= 0 || (size_t)length >= size)
        return false;
    path[length] = '\0';
    return true;
}

bool pc_fd_inside(struct pc_recorder *recorder, int fd, const struct stat *status) {
    char path[PATH_MAX];
    bool same_device = status->st_dev == recorder->dir_dev;
    if (same_device && pc_number_set_has(&recorder->inodes, status->st_ino))
        return true;
    if (!pc_fd_path(fd, path, sizeof(path)) || pc_below_dir(recorder, path) == NULL)
        return false;
    if (!same_device) {
        pc_note(recorder, NULL,
                "%s is on another file system than the data folder; changes to it are ignored", path);
        return false;
    }
    /* A nameless inode's number may come back outside without any event: ask anew each time. */
    if (status->st_nlink > 0)
        pc_number_set_add(&recorder->inodes, status->st_ino);
    return true;
}

/* The stack of the program itself: inside the memory tracer, the thread's own registers are Valgrind's. */
static uint32_t capture(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct user_regs_struct regs = thread->regs;
    if (recorder->grind != NULL)
        pc_grind_registers(recorder->grind, thread, &regs);
    return pc_stack_capture(recorder->stacks, thread->tgid, thread->tid, &regs, NULL);
}

struct pc_event pc_event_of(struct pc_recorder *recorder, struct pc_thread *thread, enum pc_event_kind kind) {
    struct pc_event event = {.kind = (uint16_t)kind};
    event.pid = (uint32_t)thread->tgid;
    event.tid = (uint32_t)thread->tid;
    if (recorder->stacks != NULL && thread->call.kind != NULL) {
        if (!thread->call.has_stack)
            thread->call.stack = capture(recorder, thread);
        thread->call.has_stack = true;
        event.stack = thread->call.stack;
    }
    return event;
}

void pc_emit(struct pc_recorder *recorder, const struct pc_event *event) {
    if (recorder->added != NULL)
        pc_added_before(recorder->added, recorder, event);
    pc_writer_event(recorder->writer, event);
    if (recorder->added != NULL)
        pc_added_behind(recorder->added, recorder, event);
}

uint32_t pc_name(struct pc_recorder *recorder, const char *bytes) {
    return pc_writer_string(recorder->writer, bytes, strlen(bytes));
}

enum { NOTE_LIMIT = 100 };

static uint64_t hash_text(const char *text) {
    uint64_t hash = 14695981039346656037u; /* FNV-1a */
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 1099511628211u;
    return hash | 1;
}

void pc_note(struct pc_recorder *recorder, struct pc_thread *thread, const char *format, ...) {
    char text[2 * PATH_MAX + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (recorder->notes.count > NOTE_LIMIT || !pc_number_set_add(&recorder->notes, hash_text(text)))
        return;
    if (recorder->notes.count > NOTE_LIMIT)
        snprintf(text, sizeof(text), "more notes like these were omitted");
    struct pc_event event = {.kind = PC_NOTE};
    if (thread != NULL)
        event = pc_event_of(recorder, thread, PC_NOTE);
    event.length = strlen(text);
    event.data = pc_writer_blob(recorder->writer, text, event.length);
    pc_emit(recorder, &event);
}

void pc_meta(struct pc_recorder *recorder, const char *key, const char *value, size_t length) {
    size_t key_length = strlen(key) + 1;
    char small[512];
    char *entry = small;
    if (key_length + length > sizeof(small) && (entry = malloc(key_length + length)) == NULL)
        return;
    memcpy(entry, key, key_length);
    memcpy(entry + key_length, value, length);
    pc_writer_entry(recorder->writer, PC_TABLE_META, entry, key_length + length, 0);
    if (entry != small)
        free(entry);
}

/* Calls about shared mappings of data files, and the asynchronous interfaces that are refused.
 *
 * After `leave`: mmap gives PC_MMAP, msync one PC_MSYNC for each shared mapping of a data file in its range.
 * Stores into the mappings are not seen here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "calls/calls.h"

static enum pc_verdict enter_mmap(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    if (pc_call_target(recorder, thread, (int)call->arg[4]) != PC_TARGET_FILE)
        return PC_SKIP;
    return S_ISREG(call->status.st_mode) ? PC_WATCH : PC_SKIP;
}

/* What processes share while they run is mapped and written, and made anew after a crash: no reason to look
 * closer. The same names as MADE_ANEW in src/powercut/image/ignored.py. */
static const char *const made_anew[] = {"*-shm", "__db.[0-9][0-9][0-9]", "lock.mdb"};

static bool is_volatile(const struct pc_thread *thread) {
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/fd/%d", thread->tid, (int)thread->call.arg[4]);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    path[length < 0 ? 0 : length] = '\0';
    const char *slash = strrchr(path, '/');
    for (size_t i = 0; slash != NULL && i < sizeof(made_anew) / sizeof(made_anew[0]); i++) {
        if (fnmatch(made_anew[i], slash + 1, 0) == 0)
            return true;
    }
    return false;
}

static void leave_mmap(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    if (call->result < 0)
        return;
    struct pc_event event = pc_event_of(recorder, thread, PC_MMAP);
    event.inode = call->status.st_ino;
    event.offset = call->arg[5];
    event.length = call->arg[1];
    event.extra = (uint64_t)call->result;
    pc_emit(recorder, &event);
    if (recorder->stop_at_mapping && !is_volatile(thread))
        recorder->mapped = true;
}

struct mapping {
    uint64_t start, end, offset, inode;
    bool shared;
    const char *path;
};

/* A line of /proc/PID/maps; false if it is none. */
static bool parse_mapping(char *line, struct mapping *mapping) {
    char permissions[8];
    int path_at = 0;
    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %" SCNu64 " %n", &mapping->start,
               &mapping->end, permissions, &mapping->offset, &mapping->inode, &path_at) < 5)
        return false;
    mapping->shared = permissions[3] == 's';
    mapping->path = line + path_at;
    return true;
}

/* Calls `emit` for each shared mapping of a data file that [call.arg[0], + call.arg[1]) touches; how many. */
static unsigned each_mapping(struct pc_recorder *recorder, struct pc_thread *thread,
                             void (*emit)(struct pc_recorder *, struct pc_thread *, const struct mapping *)) {
    char name[64], line[PATH_MAX + 256];
    struct mapping mapping;
    unsigned found = 0;
    uint64_t start = thread->call.arg[0], end = start + thread->call.arg[1];
    snprintf(name, sizeof(name), "/proc/%d/maps", thread->tid);
    FILE *maps = fopen(name, "re");
    if (maps == NULL)
        return 0;
    while (fgets(line, sizeof(line), maps) != NULL) {
        if (!parse_mapping(line, &mapping) || !mapping.shared || mapping.end <= start || mapping.start >= end)
            continue;
        if (pc_below_dir(recorder, mapping.path) == NULL)
            continue;
        found++;
        if (emit != NULL)
            emit(recorder, thread, &mapping);
    }
    fclose(maps);
    return found;
}

static void emit_msync(struct pc_recorder *recorder, struct pc_thread *thread,
                       const struct mapping *mapping) {
    const struct pc_call *call = &thread->call;
    uint64_t start = call->arg[0] > mapping->start ? call->arg[0] : mapping->start;
    uint64_t end = call->arg[0] + call->arg[1];
    if (end > mapping->end)
        end = mapping->end;
    /* On some file systems (overlay, btrfs) the number in the list of mappings is not that of stat. */
    struct stat status;
    bool named = stat(mapping->path, &status) == 0 && status.st_dev == recorder->dir_dev;
    struct pc_event event = pc_event_of(recorder, thread, PC_MSYNC);
    event.inode = named ? status.st_ino : mapping->inode;
    event.offset = mapping->offset + (start - mapping->start);
    event.length = end - start;
    event.extra = (unsigned)call->arg[2];
    pc_emit(recorder, &event);
}

static enum pc_verdict enter_msync(struct pc_recorder *recorder, struct pc_thread *thread) {
    return each_mapping(recorder, thread, NULL) > 0 ? PC_TURN : PC_SKIP;
}

static void leave_msync(struct pc_recorder *recorder, struct pc_thread *thread) {
    if (thread->call.result >= 0)
        each_mapping(recorder, thread, emit_msync);
}

static enum pc_verdict enter_refused(struct pc_recorder *recorder, struct pc_thread *thread) {
    return PC_REFUSE;
}

static void leave_refused(struct pc_recorder *recorder, struct pc_thread *thread) {
    bool ring = thread->call.number == SYS_io_uring_setup;
    pc_note(
        recorder, thread,
        "%s was refused with ENOSYS, as powercut cannot see its writes. Most programs then use plain calls",
        ring ? "io_uring" : "Linux AIO (io_setup)");
}

const struct pc_call_entry pc_calls_mappings[] = {
    {SYS_mmap, {enter_mmap, leave_mmap, false, NULL}},
    {SYS_msync, {enter_msync, leave_msync, true, NULL}},
    {SYS_io_uring_setup, {enter_refused, leave_refused, false, NULL}},
    {SYS_io_setup, {enter_refused, leave_refused, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};

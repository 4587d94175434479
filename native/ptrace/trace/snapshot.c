/* Before: nobody writes to the data folder. After: the trace holds its names, modes and bytes. Symbolic links
 * are not followed, other file systems mounted below are left out, holes of sparse files stay holes. */
#define _GNU_SOURCE
#include "trace/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/ignored.h"

enum { PIECE = 16 << 20 }; /* bytes in one PC_SNAP_DATA at most */

struct walk {
    struct pc_recorder *recorder;
    struct pc_number_set ignored; /* inodes of what is no data: there, but nobody follows it */
    char path[PATH_MAX];          /* below the data folder */
    size_t length;
};

static void walk_folder(struct walk *walk, int folder);

/* False if the inode was known. */
static bool remember(struct walk *walk, uint64_t inode) {
    bool ignored = pc_ignores(walk->recorder->ignored, walk->path);
    return pc_number_set_add(ignored ? &walk->ignored : &walk->recorder->inodes, inode);
}

static struct pc_event snap_event(struct walk *walk, enum pc_event_kind kind, const struct stat *status) {
    struct pc_event event = {.kind = (uint16_t)kind};
    event.path = pc_writer_string(walk->recorder->writer, walk->path, walk->length);
    event.inode = status->st_ino;
    event.extra = status->st_mode;
    event.offset = pc_owner(status);
    return event;
}

/* The bytes [start, end) of an open file. */
static bool snap_range(struct walk *walk, int file, uint64_t inode, off_t start, off_t end) {
    struct pc_writer *writer = walk->recorder->writer;
    while (start < end && pc_writer_error(writer) == 0) {
        struct pc_event event = {.kind = PC_SNAP_DATA, .inode = inode, .offset = (uint64_t)start};
        size_t wanted = end - start > PIECE ? PIECE : (size_t)(end - start);
        void *room = pc_writer_blob_begin(writer, wanted, &event.data);
        if (room == NULL)
            return false;
        ssize_t got = pread(file, room, wanted, start);
        if (got < 0)
            return false;
        if (got == 0)
            break;
        pc_writer_blob_commit(writer, (uint64_t)got);
        event.length = (uint64_t)got;
        pc_emit(walk->recorder, &event);
        start += got;
    }
    return true;
}

static bool snap_content(struct walk *walk, int file, uint64_t inode, off_t size) {
    off_t position = 0;
    while (position < size) {
        off_t data = lseek(file, position, SEEK_DATA);
        if (data < 0 && errno == ENXIO)
            return true; /* only a hole is left */
        if (data < 0)
            return snap_range(walk, file, inode, position, size); /* cannot tell holes */
        off_t hole = lseek(file, data, SEEK_HOLE);
        if (hole < 0 || hole > size)
            hole = size;
        if (!snap_range(walk, file, inode, data, hole))
            return false;
        position = hole;
    }
    return true;
}

static void snap_file(struct walk *walk, int folder, const char *name, const struct stat *status) {
    struct pc_event event = snap_event(walk, PC_SNAP_FILE, status);
    event.length = (uint64_t)status->st_size;
    pc_emit(walk->recorder, &event);
    bool first_name = remember(walk, status->st_ino);
    if (!first_name || status->st_size == 0)
        return;
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY);
    if (file < 0 || !snap_content(walk, file, status->st_ino, status->st_size))
        pc_note(walk->recorder, NULL, "cannot read %s/%s; treated as zeros", walk->recorder->dir, walk->path);
    if (file >= 0)
        close(file);
}

static void snap_symlink(struct walk *walk, int folder, const char *name, const struct stat *status) {
    char target[PATH_MAX];
    ssize_t length = readlinkat(folder, name, target, sizeof(target));
    struct pc_event event = snap_event(walk, PC_SNAP_SYMLINK, status);
    event.extra = event.offset = 0;
    event.length = length < 0 ? 0 : (uint64_t)length;
    event.data = pc_writer_blob(walk->recorder->writer, target, event.length);
    pc_emit(walk->recorder, &event);
    remember(walk, status->st_ino);
}

static void snap_folder(struct walk *walk, int parent, const char *name, const struct stat *status) {
    struct pc_event event = snap_event(walk, PC_SNAP_DIR, status);
    pc_emit(walk->recorder, &event);
    remember(walk, status->st_ino);
    int folder = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (folder >= 0)
        walk_folder(walk, folder); /* closes it */
    else
        pc_note(walk->recorder, NULL, "cannot read the folder %s/%s; it is left out", walk->recorder->dir,
                walk->path);
}

/* One name in `folder`; walk->path already ends with it. */
static void snap_name(struct walk *walk, int folder, const char *name) {
    struct stat status;
    if (fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return;
    if (status.st_dev != walk->recorder->dir_dev) {
        pc_note(walk->recorder, NULL, "%s/%s is on another file system than the data folder; it is left out",
                walk->recorder->dir, walk->path);
        return;
    }
    if (S_ISDIR(status.st_mode)) {
        snap_folder(walk, folder, name, &status);
    } else if (S_ISREG(status.st_mode)) {
        snap_file(walk, folder, name, &status);
    } else if (S_ISLNK(status.st_mode)) {
        snap_symlink(walk, folder, name, &status);
    } else {
        struct pc_event event = snap_event(walk, PC_SNAP_OTHER, &status);
        pc_emit(walk->recorder, &event);
        remember(walk, status.st_ino);
    }
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* The names in a folder, sorted, as an array to be freed with its members; NULL if there are none. */
static char **list_names(DIR *stream, size_t *count) {
    char **names = NULL;
    size_t room = 0;
    const struct dirent *entry;
    *count = 0;
    while ((entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (*count == room) {
            size_t larger = room == 0 ? 64 : room * 2;
            char **moved = realloc(names, larger * sizeof(*names));
            if (moved == NULL)
                break;
            names = moved;
            room = larger;
        }
        if ((names[*count] = strdup(entry->d_name)) != NULL)
            ++*count;
    }
    if (*count > 0)
        qsort(names, *count, sizeof(*names), by_name);
    return names;
}

/* Everything in `folder`, which is closed. */
static void walk_folder(struct walk *walk, int folder) {
    size_t count = 0, length = walk->length;
    DIR *stream = fdopendir(folder);
    if (stream == NULL) {
        close(folder);
        return;
    }
    char **names = list_names(stream, &count);
    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i]);
        if (length + 1 + size < sizeof(walk->path)) {
            if (length > 0)
                walk->path[walk->length++] = '/';
            memcpy(walk->path + walk->length, names[i], size + 1);
            walk->length += size;
            snap_name(walk, dirfd(stream), names[i]);
        }
        walk->length = length;
        walk->path[length] = '\0';
        free(names[i]);
    }
    free(names);
    closedir(stream);
}

int pc_snapshot(struct pc_recorder *recorder) {
    struct walk *walk = calloc(1, sizeof(*walk));
    struct stat status;
    if (walk == NULL)
        return ENOMEM;
    walk->recorder = recorder;
    int folder = open(recorder->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = folder < 0 || fstat(folder, &status) != 0 ? errno : 0;
    if (error == 0) {
        struct pc_event event = snap_event(walk, PC_SNAP_DIR, &status);
        pc_emit(recorder, &event);
        pc_number_set_add(&recorder->inodes, status.st_ino);
        walk_folder(walk, folder);
    }
    pc_number_set_free(&walk->ignored);
    free(walk);
    return error;
}

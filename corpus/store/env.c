/* Files of the store's folder. */
#define _GNU_SOURCE
#include "env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

void die(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("store: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(1);
}

char *name_file(char *name, enum file_kind kind, uint64_t number) {
    switch (kind) {
    case FILE_LOG:
        snprintf(name, NAME_SIZE, "%06" PRIu64 ".log", number);
        break;
    case FILE_TABLE:
        snprintf(name, NAME_SIZE, "%06" PRIu64 ".tbl", number);
        break;
    case FILE_MANIFEST:
        snprintf(name, NAME_SIZE, "MANIFEST-%06" PRIu64, number);
        break;
    default:
        die("files of kind %d have no number", (int)kind);
    }
    return name;
}

static struct file_name parse_name(const char *text) {
    struct file_name file = {0};
    char again[NAME_SIZE];
    if (strlen(text) >= sizeof file.name)
        return file;
    strcpy(file.name, text);
    if (strcmp(text, "CURRENT") == 0)
        file.kind = FILE_CURRENT;
    else if (strcmp(text, "CURRENT.tmp") == 0)
        file.kind = FILE_TEMPORARY;
    else if (strcmp(text, "LOCK") == 0)
        file.kind = FILE_LOCK;
    else if (sscanf(text, "MANIFEST-%" SCNu64, &file.number) == 1)
        file.kind = FILE_MANIFEST;
    else if (sscanf(text, "%" SCNu64, &file.number) == 1)
        file.kind = strstr(text, ".log") != NULL ? FILE_LOG : FILE_TABLE;
    if (file.number != 0 && strcmp(name_file(again, file.kind, file.number), text) != 0)
        file.kind = FILE_OTHER; /* not a name that we write: not ours */
    return file;
}

static int by_number(const void *a, const void *b) {
    const struct file_name *one = a, *other = b;
    return (one->number > other->number) - (one->number < other->number);
}

struct listing list_folder(int dir) {
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); /* closedir will close it */
    DIR *stream = copy >= 0 ? fdopendir(copy) : NULL;
    must(stream != NULL, "list the folder: %s", strerror(errno));
    struct listing listing = {0};
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;) {
        struct file_name file = parse_name(entry->d_name);
        if (file.kind == FILE_OTHER)
            continue;
        listing.files = realloc(listing.files, (listing.count + 1) * sizeof file);
        must(listing.files != NULL, "out of memory");
        listing.files[listing.count++] = file;
    }
    closedir(stream);
    if (listing.count > 0)
        qsort(listing.files, listing.count, sizeof *listing.files, by_number);
    return listing;
}

void listing_free(struct listing *listing) {
    free(listing->files);
    *listing = (struct listing){0};
}

int open_folder(const char *path) {
    must(mkdir(path, 0755) == 0 || errno == EEXIST, "mkdir %s: %s", path, strerror(errno));
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    must(dir >= 0, "open %s: %s", path, strerror(errno));
    return dir;
}

int lock_folder(int dir) {
    int fd = openat(dir, "LOCK", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    must(fd >= 0, "open LOCK: %s", strerror(errno));
    must(flock(fd, LOCK_EX | LOCK_NB) == 0, "the store is in use by another process");
    return fd;
}

int create_file(int dir, const char *name) {
    int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    must(fd >= 0, "create %s: %s", name, strerror(errno));
    return fd;
}

int open_file(int dir, const char *name, int flags) {
    int fd = openat(dir, name, flags | O_CLOEXEC, 0644);
    must(fd >= 0, "open %s: %s", name, strerror(errno));
    return fd;
}

bool file_exists(int dir, const char *name) {
    return faccessat(dir, name, F_OK, 0) == 0;
}

void delete_file(int dir, const char *name) {
    must(unlinkat(dir, name, 0) == 0, "delete %s: %s", name, strerror(errno));
}

void rename_file(int dir, const char *from, const char *to) {
    must(renameat(dir, from, dir, to) == 0, "rename %s to %s: %s", from, to, strerror(errno));
}

void write_all(int fd, struct slice content, const char *name) {
    while (content.length > 0) {
        ssize_t written = write(fd, content.data, content.length);
        if (written < 0 && errno == EINTR)
            continue;
        must(written > 0, "write %s: %s", name, strerror(errno));
        content.data += written;
        content.length -= (size_t)written;
    }
}

void read_at(int fd, uint64_t offset, size_t length, struct bytes *into, const char *name) {
    bytes_clear(into);
    bytes_reserve(into, length);
    while (into->length < length) {
        ssize_t got =
            pread(fd, into->data + into->length, length - into->length, (off_t)(offset + into->length));
        if (got < 0 && errno == EINTR)
            continue;
        must(got >= 0, "read %s: %s", name, strerror(errno));
        must(got > 0, "%s is too short: it ends at %" PRIu64, name, offset + into->length);
        into->length += (size_t)got;
    }
}

uint64_t file_size(int fd) {
    struct stat status;
    must(fstat(fd, &status) == 0, "fstat: %s", strerror(errno));
    return (uint64_t)status.st_size;
}

void read_file(int dir, const char *name, struct bytes *into) {
    int fd = open_file(dir, name, O_RDONLY);
    read_at(fd, 0, file_size(fd), into, name);
    close(fd);
}

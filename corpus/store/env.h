/* Files of the store's folder. The store is fail-stop: an error of the system ends the process with one
 * message, since after a failed write or sync nothing it could do next would be safe. */
#pragma once

#include "bytes.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

/* Ends the process with a message and status 1. */
noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the process unless something is true. */
#define must(ok, ...)                                                                                        \
    do {                                                                                                     \
        if (!(ok))                                                                                           \
            die(__VA_ARGS__);                                                                                \
    } while (0)

enum { NAME_SIZE = 32 };

enum file_kind { FILE_OTHER, FILE_LOG, FILE_TABLE, FILE_MANIFEST, FILE_CURRENT, FILE_TEMPORARY, FILE_LOCK };

struct file_name {
    enum file_kind kind;
    uint64_t number; /* of logs, tables and manifests */
    char name[NAME_SIZE];
};

/* All files of a folder, by number. */
struct listing {
    struct file_name *files;
    size_t count;
};

/* The name of a log, table or manifest; writes into NAME_SIZE bytes and returns them. */
char *name_file(char *name, enum file_kind kind, uint64_t number);

struct listing list_folder(int dir);
void listing_free(struct listing *listing);

/* Opens the folder, creating it if need be. */
int open_folder(const char *path);

/* Takes the lock; it is held until the descriptor is closed. */
int lock_folder(int dir);

int create_file(int dir, const char *name); /* must not exist */
int open_file(int dir, const char *name, int flags);
bool file_exists(int dir, const char *name);
void delete_file(int dir, const char *name);
void rename_file(int dir, const char *from, const char *to);

void write_all(int fd, struct slice content, const char *name);
void read_at(int fd, uint64_t offset, size_t length, struct bytes *into, const char *name);
uint64_t file_size(int fd);
void read_file(int dir, const char *name, struct bytes *into);

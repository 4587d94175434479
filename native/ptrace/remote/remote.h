/* Looking into a stopped thread: its memory, its descriptors, the names it uses. Whatever is read there is
 * the program's, hence untrusted: wrong pointers and lengths give failures, never crashes. */
#ifndef POWERCUT_REMOTE_REMOTE_H
#define POWERCUT_REMOTE_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include "thread.h"
#include "trace/recorder.h"

/* How many of `length` bytes at `address` could be read. */
size_t pc_peek(const struct pc_thread *thread, uint64_t address, void *buffer, size_t length);

/* Writes to memory that the thread itself was just writing; false if it cannot be written whole. */
bool pc_poke(const struct pc_thread *thread, uint64_t address, const void *buffer, size_t length);

/* Reads a NUL-terminated string; its length, or -1 if it is not readable or longer than `size` - 1. */
int pc_peek_string(const struct pc_thread *thread, uint64_t address, char *buffer, size_t size);

/* Gathers `length` bytes through the thread's array of `count` iovecs at `address`; how many were read. */
size_t pc_peek_vector(const struct pc_thread *thread, uint64_t address, uint64_t count, void *buffer,
                      size_t length);

/* A duplicate of the thread's descriptor in the tracer (close it), or -1. */
int pc_dup_remote(struct pc_thread *thread, int fd);

/* The folder from which `name` is walked, as an O_PATH or duplicated descriptor (close it), or -1. */
int pc_open_base(struct pc_thread *thread, int dirfd, const char *name);

enum pc_follow { PC_NO_FOLLOW, PC_FOLLOW };

/* An O_PATH descriptor of the file that the thread means by a path, or -1. AT_EMPTY_PATH in `at_flags` is
 * understood. */
int pc_open_remote(struct pc_thread *thread, int dirfd, uint64_t path, enum pc_follow follow, int at_flags);
int pc_open_named(struct pc_thread *thread, int dirfd, const char *name, enum pc_follow follow);

/* Resolves the parent folder of a path as the thread sees it, and looks at the last component without
 * following it. pc_place_close gives back the descriptor. */
void pc_place_resolve(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, uint64_t path,
                      struct pc_place *place);
void pc_place_named(struct pc_recorder *recorder, struct pc_thread *thread, int dirfd, const char *name,
                    struct pc_place *place);
/* Looks at the last component again. */
void pc_place_look(struct pc_place *place);
void pc_place_close(struct pc_place *place);

#endif

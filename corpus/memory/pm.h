/* What the programs of this folder share: a pool (a file mapped into memory), flushes and fences, and words
 * to the outside. Nothing here stores into a pool.
 *
 * A pool is created in full size, all zeros, and is durable with its name before anything is stored in it. A
 * power cut leaves no file, an empty file or a pool of zeros: every program here takes all three for a pool
 * that holds nothing.
 */
#ifndef PM_H
#define PM_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE 64 /* bytes of a cache line */

/* Memory */

/* clwb, or what an older processor has instead. Under powercut it is always clwb. */
static inline void flush_line(const void *address) {
    if (__builtin_cpu_supports("clwb"))
        __asm__ volatile("clwb %0" : : "m"(*(const char *)address) : "memory");
    else
        __asm__ volatile("clflush %0" : : "m"(*(const char *)address) : "memory");
}

static inline void flush(const void *start, size_t length) {
    const char *end = (const char *)start + length;
    for (const char *line = (const char *)((uintptr_t)start & -(uintptr_t)LINE); line < end; line += LINE)
        flush_line(line);
}

static inline void fence(void) {
    __asm__ volatile("sfence" : : : "memory");
}

static inline void persist(const void *start, size_t length) {
    flush(start, length);
    fence();
}

/* The pool */

static inline void need(int ok, const char *what) {
    if (!ok) {
        perror(what);
        exit(3);
    }
}

/* A workload's way: enter the data folder, create the pool if there is none, map it. */
static inline void *pool_open(const char *folder, const char *name, size_t size) {
    struct stat status;
    need(chdir(folder) == 0, folder);
    int fd = open(name, O_RDWR | O_CREAT, 0644), here = open(".", O_RDONLY | O_DIRECTORY);
    need(fd >= 0 && here >= 0 && fstat(fd, &status) == 0, name);
    if (status.st_size == 0) {
        need(ftruncate(fd, (off_t)size) == 0 && fsync(fd) == 0 && fsync(here) == 0, "create the pool");
    }
    void *pool = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need(pool != MAP_FAILED, "mmap");
    close(here);
    close(fd);
    return pool;
}

/* A check's way: the pool in the current folder, or NULL if the power cut came before it was created. */
static inline void *pool_recover(const char *name, size_t size) {
    struct stat status;
    int fd = open(name, O_RDWR);
    if (fd < 0)
        return NULL;
    need(fstat(fd, &status) == 0, name);
    if (status.st_size == 0)
        return NULL;
    void *pool = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    need((size_t)status.st_size == size && pool != MAP_FAILED, "mmap");
    close(fd);
    return pool;
}

/* Words to the outside, and what they were when the power was cut */

/* Say a line, at once and in one piece. A macro, so that the line that says it is the program's own. */
#define say(format, ...) dprintf(STDOUT_FILENO, format "\n", ##__VA_ARGS__)

/* Whether a whole line was said. */
static inline int said(const char *format, ...) {
    char wanted[128], line[128];
    va_list values;
    va_start(values, format);
    int length = vsnprintf(wanted, sizeof wanted - 1, format, values);
    va_end(values);
    memcpy(wanted + length, "\n", 2);

    const char *path = getenv("POWERCUT_ACKED");
    FILE *file = path ? fopen(path, "r") : NULL;
    need(file != NULL, "POWERCUT_ACKED");
    int found = 0;
    while (!found && fgets(line, sizeof line, file))
        found = strcmp(line, wanted) == 0;
    fclose(file);
    return found;
}

/* The check does not accept the pool. */
__attribute__((format(printf, 1, 2), noreturn)) static inline void refuse(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    putchar('\n');
    exit(1);
}

#endif

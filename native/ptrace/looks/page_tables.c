/* A page that a process reads or writes through a mapping, itself or by a call, gets an entry in its page
 * tables first. The kernel also enters neighbours, which does no harm: more counts as read than was.
 *
 * On a tmpfs without huge pages nothing but want of memory and calls (looks/mappings.c) takes an entry out
 * again. A page on its way from one place in memory to another has an entry of another kind, which counts. */
#define _GNU_SOURCE
#include "looks/page_tables.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "looks/looks.h"

/* Of linux/fs.h, which older headers lack (6.7). */
struct page_region {
    uint64_t start, end, categories;
};
struct scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN            _IOWR('f', 16, struct scan)
#define PAGE_IS_PRESENT (1 << 3)
#define PAGE_IS_SWAPPED (1 << 4) /* or on its way elsewhere */

enum { REGIONS = 256 };

/* The next runs of pages that have an entry, from *start on; how many, or -1. Advances *start. */
static int scan(int pagemap, uint64_t *start, uint64_t end, struct page_region *regions) {
    struct scan asked = {
        .size = sizeof(asked),
        .start = *start,
        .end = end,
        .vec = (uint64_t)(uintptr_t)regions,
        .vec_len = REGIONS,
        .category_anyof_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
        .return_mask = PAGE_IS_PRESENT | PAGE_IS_SWAPPED,
    };
    int got = ioctl(pagemap, SCAN, &asked);
    *start = asked.walk_end;
    return got;
}

/* Whether one line of a file holds all of some words; a file that is not there holds none. */
static bool holds(const char *path, const char *word, const char *another) {
    char *line = NULL;
    size_t room = 0;
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && getline(&line, &room, file) > 0)
        found = strstr(line, word) != NULL && strstr(line, another) != NULL;
    free(line);
    if (file != NULL)
        (void)fclose(file);
    return found;
}

/* Whether the kernel may put pages of files there together to huge ones. */
static bool may_be_huge(const struct stat *dir) {
    char device[64];
    (void)snprintf(device, sizeof(device), " %u:%u ", major(dir->st_dev), minor(dir->st_dev));
    return holds("/proc/self/mountinfo", device, "huge=") ||
           holds("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "[force]", "");
}

bool pc_pages_stay(const char *dir) {
    struct statfs about;
    struct stat status;
    struct page_region regions[REGIONS];
    if (statfs(dir, &about) != 0 || about.f_type != TMPFS_MAGIC || stat(dir, &status) != 0 ||
        may_be_huge(&status))
        return false;
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t start = (uint64_t)(uintptr_t)&about & ~(uint64_t)(4096 - 1), here = start;
    bool told = pagemap >= 0 && scan(pagemap, &start, here + 4096, regions) == 1;
    if (pagemap >= 0)
        close(pagemap);
    return told;
}

/* One mapping, from `start` to `end`, of a file from `offset` on. */
static bool write_mapping(struct pc_recorder *recorder, int pagemap, const struct stat *file, uint64_t start,
                          uint64_t end, uint64_t offset) {
    struct page_region regions[REGIONS];
    for (uint64_t next = start; next < end;) {
        uint64_t before = next;
        int count = scan(pagemap, &next, end, regions);
        if (count < 0 || (next <= before && count == 0))
            return false;
        for (int i = 0; i < count; i++)
            pc_look(recorder, file, PC_LOOK_PAGES, regions[i].start - start + offset,
                    regions[i].end - regions[i].start);
    }
    return true;
}

static bool write_mappings(struct pc_recorder *recorder, FILE *maps, int pagemap) {
    char *line = NULL;
    size_t room = 0;
    bool told = true;
    while (told && getline(&line, &room, maps) > 0) {
        uint64_t start, end, offset, inode;
        unsigned high, low;
        told = sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %x:%x %" SCNu64, &start, &end, &offset,
                      &high, &low, &inode) == 6;
        struct stat file = {.st_dev = makedev(high, low), .st_ino = inode};
        if (told && inode != 0 && file.st_dev == recorder->dir_dev)
            told = write_mapping(recorder, pagemap, &file, start, end, offset);
    }
    told = told && !ferror(maps);
    free(line);
    return told;
}

bool pc_pages_write(struct pc_recorder *recorder, pid_t tgid) {
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/pagemap", tgid);
    int pagemap = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", tgid);
    FILE *maps = pagemap < 0 ? NULL : fopen(path, "re");
    bool told = maps != NULL && write_mappings(recorder, maps, pagemap);
    if (maps != NULL)
        (void)fclose(maps);
    if (pagemap >= 0)
        close(pagemap);
    return told;
}

/* The values behind some words at the starts of lines; a word that is not there leaves its value as it is. */
static bool read_values(const char *path, const char *const *words, uint64_t *values, size_t count) {
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (getline(&line, &room, file) > 0) {
        for (size_t i = 0; i < count; i++) {
            size_t length = strlen(words[i]);
            if (strncmp(line, words[i], length) == 0)
                values[i] = strtoull(line + length, NULL, 10);
        }
    }
    bool whole = !ferror(file);
    free(line);
    (void)fclose(file);
    return whole;
}

bool pc_pages_scanned(uint64_t *scanned) {
    static const char *const words[] = {"pgscan_anon "};
    *scanned = UINT64_MAX;
    return read_values("/proc/vmstat", words, scanned, 1) && *scanned != UINT64_MAX;
}

bool pc_process_of(pid_t tid, pid_t *tgid, unsigned *threads) {
    static const char *const words[] = {"Tgid:", "Threads:"};
    uint64_t values[] = {0, 0};
    char path[64];
    (void)snprintf(path, sizeof(path), "/proc/%d/status", tid);
    bool whole = read_values(path, words, values, 2);
    *tgid = (pid_t)values[0];
    *threads = (unsigned)values[1];
    return whole && values[0] != 0 && values[1] != 0;
}

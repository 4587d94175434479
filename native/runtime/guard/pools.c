#define _GNU_SOURCE
#include "pools.h"

#include "complain.h"
#include "interpose/next.h"
#include "lines.h"
#include "log.h"
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIGNATURE = 8, LANES = 5120, HEAP = 5136 }; /* in the descriptor of a pool of libpmemobj */

static struct {
    uint64_t device, inode;
} pools[PC_POOLS_MOST + 1];
static unsigned pool_count;
struct pc_mapping pc_mappings[PC_MAPPINGS_MOST];
_Atomic unsigned pc_mapping_count;
uintptr_t pc_notebook;
_Atomic size_t pc_notebook_size;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void pc_pool_known(unsigned number, uint64_t device, uint64_t inode) {
    if (number == 0 || number > PC_POOLS_MOST)
        return;
    pools[number].device = device;
    pools[number].inode = inode;
    pool_count = number > pool_count ? number : pool_count;
}

static bool sync_folder(const char *path) {
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool good = folder >= 0 && fsync(folder) == 0;
    if (folder >= 0)
        close(folder);
    return good;
}

/* The pool as it is now, durable, and under its final name only when it is complete: records tell of changes
 * to it. */
static bool save_base(unsigned number, int file, off_t size) {
    const char *folder = getenv("POWERCUT_GUARD");
    char path[PATH_MAX], part[PATH_MAX];
    snprintf(path, sizeof path, "%s/pool-%u.base", folder, number);
    if ((size_t)snprintf(part, sizeof part, "%s.part", path) >= sizeof part)
        return false;
    int copy = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = copy >= 0 && ftruncate(copy, size) == 0;
    for (off_t data = 0; good && (data = lseek(file, data, SEEK_DATA)) >= 0 && data < size;) {
        off_t hole = lseek(file, data, SEEK_HOLE);
        off_t from = data;
        good = lseek(copy, data, SEEK_SET) == data;
        while (good && from < hole)
            good = sendfile(copy, file, &from, (size_t)(hole - from)) > 0;
        data = hole;
    }
    good = good && fsync(copy) == 0 && rename(part, path) == 0 && sync_folder(folder);
    if (copy >= 0)
        close(copy);
    return good;
}

/* The number of a file's pool, 0: it cannot be guarded. */
static unsigned number_of(int file) {
    struct stat facts;
    char link[32], path[PATH_MAX];
    if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode))
        return 0;
    for (unsigned i = 1; i <= pool_count; i++)
        if (pools[i].device == facts.st_dev && pools[i].inode == facts.st_ino)
            return i;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path);
    if (length <= 0 || pool_count == PC_POOLS_MOST || !save_base(pool_count + 1, file, facts.st_size)) {
        complain("cannot guard a pool, because its content cannot be saved: %s [guard-base]",
                 strerror(errno));
        return 0;
    }
    pc_pool_known(pool_count + 1, facts.st_dev, facts.st_ino);
    pc_log_put(&(struct pc_log_entry){.kind = PC_GUARD_POOL,
                                      .pool = pool_count,
                                      .offset = (uint64_t)facts.st_size,
                                      .data = path,
                                      .size = (size_t)length});
    pc_log_sync();
    return pool_count;
}

/* Whether the operator named the file: POWERCUT_GUARD_POOLS holds paths, one a line. */
static bool is_named(int file) {
    const char *names = getenv("POWERCUT_GUARD_POOLS");
    struct stat facts, named;
    char path[PATH_MAX];
    if (!names || fstat(file, &facts) != 0)
        return false;
    for (size_t length; *names; names += length + (names[length] == '\n')) {
        length = strcspn(names, "\n");
        snprintf(path, sizeof path, "%.*s", (int)length, names);
        if (stat(path, &named) == 0 && named.st_dev == facts.st_dev && named.st_ino == facts.st_ino)
            return true;
    }
    return false;
}

/* The logs of libpmemobj's own transactions are empty whenever nothing is under way. */
uintptr_t pc_find_private(struct pc_mapping *mapping) {
    const char *at = (const char *)mapping->low;
    size_t size = mapping->high - mapping->low;
    uint64_t lanes, heap;
    if (mapping->offset != 0 || size <= HEAP + 8 || memcmp(at, "PMEMOBJ", SIGNATURE) != 0)
        return 0;
    memcpy(&lanes, at + LANES, 8);
    memcpy(&heap, at + HEAP, 8);
    if (lanes >= heap || heap > size)
        return 0;
    mapping->private_low = mapping->low + lanes;
    atomic_store_explicit(&mapping->private_high, mapping->low + heap, memory_order_release);
    if (mapping == pc_mappings && !pc_notebook) {
        pc_notebook = mapping->private_low;
        atomic_store_explicit(&pc_notebook_size, heap - lanes, memory_order_release);
    }
    return mapping->low + heap;
}

void pc_mapped(void *address, size_t size, int file, int64_t offset, const void *caller) {
    if (!(is_of_pmdk(caller) || is_named(file)) || !pc_guard_begins())
        return;
    pthread_mutex_lock(&changing);
    unsigned number = number_of(file), count = pc_mapping_count;
    if (number && count < PC_MAPPINGS_MOST) {
        pc_mappings[count] = (struct pc_mapping){.low = (uintptr_t)address,
                                                 .high = (uintptr_t)address + size,
                                                 .offset = (uint64_t)offset,
                                                 .pool = number};
        atomic_store_explicit(&pc_mapping_count, count + 1, memory_order_release);
    }
    pthread_mutex_unlock(&changing);
    if (number)
        pc_lines_mapped(address, size, true);
}

void pc_unmapped(const void *address, size_t size) {
    uintptr_t low = (uintptr_t)address, high = low + size;
    if (!pc_mapping_count)
        return;
    pthread_mutex_lock(&changing);
    bool was_mapped = false;
    for (unsigned i = 0; i < pc_mapping_count; i++)
        if (pc_mappings[i].high && low <= pc_mappings[i].low && pc_mappings[i].high <= high) {
            pc_mappings[i].low = pc_mappings[i].high = 0;
            was_mapped = true;
        }
    if (low <= pc_notebook && pc_notebook < high)
        pc_notebook_size = 0;
    pthread_mutex_unlock(&changing);
    if (was_mapped)
        pc_lines_mapped(address, size, false);
}

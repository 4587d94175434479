/* The cache of mapped ELF files: see stacks/modules/module.h. */
#include "stacks/modules/module.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool pc_module_bias(const struct pc_module *module, uint64_t start, uint64_t offset, uint64_t *bias) {
    for (unsigned i = 0; i < module->load_count; i++) {
        const struct pc_module_load *load = &module->loads[i];
        uint64_t first = load->offset & ~4095ull; /* the kernel maps whole pages */
        if (!load->executable || offset < first || offset - first >= load->size + 4096)
            continue;
        *bias = start - (load->address - load->offset + offset);
        return true;
    }
    return false;
}

/* The process may live in another mount namespace or chroot: its own root comes second. A file whose inode is
 * not the mapped one is taken only as the last resort (overlay file systems may show another inode in maps).
 */
static int open_module(pid_t pid, const char *path, uint64_t inode, struct stat *st) {
    char inside[4200];
    int fallback = -1;
    snprintf(inside, sizeof inside, "/proc/%d/root%s", (int)pid, path);
    const char *candidates[] = {path, inside};
    for (unsigned i = 0; i < 2; i++) {
        int fd = open(candidates[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (fd < 0)
            continue;
        if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && st->st_ino == inode) {
            if (fallback >= 0)
                close(fallback);
            return fd;
        }
        if (i == 0 && S_ISREG(st->st_mode))
            fallback = fd;
        else
            close(fd);
    }
    if (fallback >= 0 && fstat(fallback, st) != 0) {
        close(fallback);
        return -1;
    }
    return fallback;
}

static bool same_file(const struct pc_module *m, const char *path, uint64_t device, uint64_t inode) {
    return m->inode == inode && m->device == device && strcmp(m->path, path) == 0;
}

/* A file is the same as before if its inode, size and times are: a compiler may have written a new one in
 * place. */
static bool unchanged(const struct pc_module *m, const struct stat *st) {
    return m->size == (uint64_t)st->st_size && m->mtime_sec == st->st_mtim.tv_sec &&
           m->mtime_nsec == st->st_mtim.tv_nsec;
}

static struct pc_module *add(struct pc_modules *modules, const char *path, uint64_t device, uint64_t inode) {
    if (modules->count == modules->room) {
        unsigned wanted = modules->room ? modules->room * 2 : 64;
        struct pc_module **grown = realloc(modules->items, wanted * sizeof *grown);
        if (!grown)
            return 0;
        modules->items = grown;
        modules->room = wanted;
    }
    struct pc_module *m = calloc(1, sizeof *m);
    if (!m)
        return 0;
    m->path = strdup(path);
    if (!m->path) {
        free(m);
        return 0;
    }
    m->device = device;
    m->inode = inode;
    modules->items[modules->count++] = m;
    return m;
}

struct pc_module *pc_modules_get(struct pc_modules *modules, pid_t pid, const char *path, uint64_t device,
                                 uint64_t inode) {
    struct stat st;
    bool present = stat(path, &st) == 0 && st.st_ino == inode;
    for (unsigned i = modules->count; i-- > 0;) {
        struct pc_module *m = modules->items[i];
        if (same_file(m, path, device, inode) && (!present || unchanged(m, &st)))
            return m;
    }
    struct pc_module *m = add(modules, path, device, inode);
    int fd = m ? open_module(pid, path, inode, &st) : -1;
    if (fd < 0)
        return m;
    m->size = (uint64_t)st.st_size;
    m->mtime_sec = st.st_mtim.tv_sec;
    m->mtime_nsec = st.st_mtim.tv_nsec;
    pc_module_parse(m, fd);
    close(fd);
    return m;
}

void pc_modules_free(struct pc_modules *modules) {
    for (unsigned i = 0; i < modules->count; i++) {
        pc_cfi_close(&modules->items[i]->cfi);
        free(modules->items[i]->path);
        free(modules->items[i]);
    }
    free(modules->items);
    memset(modules, 0, sizeof *modules);
}

/* ELF files that processes have mapped, each opened once however many processes map it.
 *
 * Before: a path and the identity (device, inode) that /proc/PID/maps gives. After: what unwinding needs of
 * the file as private copies: a file that is truncated or replaced later can neither kill the tracer nor mix
 * two builds. Modules live until pc_modules_free, across exec and exit: git-like trees run the same few files
 * again and again.
 */
#ifndef POWERCUT_STACKS_MODULES_MODULE_H
#define POWERCUT_STACKS_MODULES_MODULE_H

#include "stacks/cfi/cfi.h"

#include <elf.h>
#include <sys/types.h>

#define PC_MODULE_LOADS 16

struct pc_module_load {
    uint64_t offset, address, size; /* of one PT_LOAD, as far as it is backed by the file */
    bool executable;
};

struct pc_module {
    uint64_t device, inode, size; /* identity; device as in maps: major << 32 | minor */
    int64_t mtime_sec, mtime_nsec;
    char *path;
    char build_id[65]; /* hex, "" if there is none */
    uint32_t id;       /* PC_TABLE_MODULE id, 0: not written yet */
    unsigned load_count;
    struct pc_module_load loads[PC_MODULE_LOADS];
    struct cfi_tables cfi;
    /* Addresses of what a Python interpreter exports; all 0 unless the file holds one. */
    uint64_t py_runtime, py_version, py_code_type;
};

struct pc_modules {
    struct pc_module **items;
    unsigned count, room;
};

/* The module for a mapping of `path` (NUL-terminated) in process pid. Never NULL unless out of memory: a file
 * that cannot be read gives a module with a path and nothing else. */
struct pc_module *pc_modules_get(struct pc_modules *modules, pid_t pid, const char *path, uint64_t device,
                                 uint64_t inode);
void pc_modules_free(struct pc_modules *modules);

/* What to subtract from an address in the process to get one in p_vaddr space, given an executable mapping
 * that starts at `start` and shows the file from `offset` on. */
bool pc_module_bias(const struct pc_module *module, uint64_t start, uint64_t offset, uint64_t *bias);

/* Shared between stacks/modules/module.c and stacks/modules/elf.c: fills the module from the open file. */
void pc_module_parse(struct pc_module *module, int fd);

#endif

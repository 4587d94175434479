/* From a call's registers to its key: see stacks/told/keys.h. */
#include "stacks/told/keys.h"

#include <stdio.h>
#include <sys/syscall.h>

#define PAGE 4096u

struct row {
    long number;
    char letter;
    char argument; /* of the descriptor or path */
    bool path;
};

static const struct row rows[] = {
    {SYS_write, 'w', 0, false},     {SYS_pwrite64, 'w', 0, false},  {SYS_writev, 'w', 0, false},
    {SYS_pwritev, 'w', 0, false},   {SYS_pwritev2, 'w', 0, false},  {SYS_fsync, 's', 0, false},
    {SYS_fdatasync, 'd', 0, false}, {SYS_ftruncate, 't', 0, false}, {SYS_close, 'c', 0, false},
    {SYS_fchmod, 'x', 0, false},    {SYS_fchown, 'x', 0, false},    {SYS_truncate, 't', 0, true},
    {SYS_open, 'o', 0, true},       {SYS_openat, 'o', 1, true},     {SYS_creat, 'o', 0, true},
    {SYS_rename, 'r', 0, true},     {SYS_renameat, 'r', 1, true},   {SYS_renameat2, 'r', 1, true},
    {SYS_unlink, 'u', 0, true},     {SYS_unlinkat, 'u', 1, true},   {SYS_rmdir, 'u', 0, true},
    {SYS_mkdir, 'm', 0, true},      {SYS_mkdirat, 'm', 1, true},    {SYS_link, 'l', 1, true},
    {SYS_linkat, 'l', 3, true},     {SYS_symlink, 'l', 1, true},    {SYS_symlinkat, 'l', 2, true},
    {SYS_chmod, 'x', 0, true},      {SYS_fchmodat, 'x', 1, true},   {SYS_chown, 'x', 0, true},
    {SYS_lchown, 'x', 0, true},     {SYS_fchownat, 'x', 1, true},
};

static uint64_t argument(const struct user_regs_struct *regs, int number) {
    const uint64_t arguments[] = {regs->rdi, regs->rsi, regs->rdx, regs->r10};
    return arguments[number];
}

/* Copies a NUL-terminated string; its length, 0 if it is not readable or too long. */
static size_t read_path(struct pc_target_memory *memory, uint64_t address, char *out, size_t size) {
    size_t used = 0;
    while (used < size) {
        size_t piece = PAGE - (address + used) % PAGE;
        if (piece > size - used)
            piece = size - used;
        if (!pc_memory_read(memory, address + used, out + used, piece))
            return 0;
        const char *end = memchr(out + used, '\0', piece);
        if (end)
            return (size_t)(end - out);
        used += piece;
    }
    return 0;
}

size_t pc_told_key(struct pc_target_memory *memory, const struct user_regs_struct *regs, char *key,
                   size_t size) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].number != (long)regs->orig_rax)
            continue;
        key[0] = rows[i].letter;
        if (!rows[i].path)
            return 1 + (size_t)snprintf(key + 1, size - 1, "#%d", (int)argument(regs, rows[i].argument));
        size_t length = read_path(memory, argument(regs, rows[i].argument), key + 1, size - 1);
        return length ? 1 + length : 0;
    }
    return 0;
}

bool pc_told_follows_open(const struct user_regs_struct *regs) {
    long number = (long)regs->orig_rax;
    return number == SYS_copy_file_range || number == SYS_sendfile || number == SYS_ioctl ||
           number == SYS_fchmod;
}

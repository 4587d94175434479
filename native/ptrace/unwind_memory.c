/* Windows over the memory of a stopped process: see unwind_memory.h.
 *
 * One process_vm_readv of some pages costs about as much as one of eight bytes, and far less than a ptrace peek
 * for each word. The remote side is cut at page borders, as only then does the kernel promise to deliver the
 * pages before an unmapped one.
 */
#include "unwind_memory.h"

#include <sys/uio.h>

#define PAGE 4096u

void pc_memory_start(struct pc_memory *memory, pid_t pid) {
    memory->pid = pid;
    memory->next = 0;
    for (unsigned i = 0; i < PC_WINDOWS; i++)
        memory->windows[i].size = 0;
}

void pc_memory_load(struct pc_memory *memory, uint64_t base, uint64_t size) {
    struct pc_window *w = &memory->windows[memory->next++ % PC_WINDOWS];
    if (size > PC_WINDOW_BYTES)
        size = PC_WINDOW_BYTES;
    w->base = base;
    w->size = 0;
    if (base + size < base)
        return;
    struct iovec remote[PC_WINDOW_BYTES / PAGE + 1];
    unsigned count = 0;
    for (uint64_t at = base; at < base + size;) {
        uint64_t stop = (at | (PAGE - 1)) + 1;
        if (stop > base + size)
            stop = base + size;
        remote[count++] = (struct iovec){(void *)at, stop - at};
        at = stop;
    }
    struct iovec local = {w->data, size};
    ssize_t got = process_vm_readv(memory->pid, &local, 1, remote, count, 0);
    w->size = got > 0 ? (uint64_t)got : 0;
}

static bool from_windows(const struct pc_memory *memory, uint64_t address, void *out, uint64_t length) {
    for (unsigned i = 0; i < PC_WINDOWS; i++) {
        const struct pc_window *w = &memory->windows[i];
        if (address >= w->base && w->size >= length && address - w->base <= w->size - length) {
            memcpy(out, w->data + (address - w->base), length);
            return true;
        }
    }
    return false;
}

/* How much to fetch for a miss: a walk that leaves the end of a window will go on beyond it. */
static uint64_t miss_size(const struct pc_memory *memory, uint64_t address) {
    for (unsigned i = 0; i < PC_WINDOWS; i++) {
        const struct pc_window *w = &memory->windows[i];
        if (w->size && address >= w->base && address - w->base < w->size + PC_WINDOW_BYTES)
            return PC_WINDOW_BYTES;
    }
    return PAGE;
}

bool pc_memory_read(struct pc_memory *memory, uint64_t address, void *out, uint64_t length) {
    if (from_windows(memory, address, out, length))
        return true;
    if (length <= PAGE) {
        pc_memory_load(memory, address & ~63ull, miss_size(memory, address));
        if (from_windows(memory, address, out, length))
            return true;
    }
    struct iovec local = {out, length}, remote = {(void *)address, length};
    return address + length >= address && process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

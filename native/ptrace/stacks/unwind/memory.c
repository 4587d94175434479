/* Windows over the memory of a stopped process: see stacks/unwind/memory.h.
 *
 * One process_vm_readv of some pages costs about as much as one of eight bytes, and far less than a ptrace
 * peek for each word. The remote side is cut at page borders, as only then does the kernel promise to deliver
 * the pages before an unmapped one.
 */
#define _GNU_SOURCE
#include "stacks/unwind/memory.h"

#include <sys/uio.h>

#define PAGE   4096u
#define PIECES (PC_WINDOW_BYTES / PAGE + 1) /* pages that one window may touch */

void pc_memory_start(struct pc_target_memory *memory, pid_t pid) {
    memory->pid = pid;
    memory->next = 0;
    for (unsigned i = 0; i < PC_WINDOWS; i++)
        memory->windows[i].size = 0;
}

/* The remote side of one window, cut at page borders; the number of pieces. */
static unsigned cut(const struct pc_range *range, struct iovec *out) {
    unsigned count = 0;
    for (uint64_t at = range->base, end = at + range->size; at < end;) {
        uint64_t stop = (at | (PAGE - 1)) + 1;
        if (stop > end)
            stop = end;
        out[count++] = (struct iovec){(void *)at, stop - at};
        at = stop;
    }
    return count;
}

void pc_memory_fetch(struct pc_target_memory *memory, const struct pc_range *ranges, unsigned count) {
    struct iovec local[PC_WINDOWS], remote[PC_WINDOWS * PIECES];
    struct pc_window *windows[PC_WINDOWS];
    unsigned used = 0, pieces = 0;
    for (unsigned i = 0; i < count && used < PC_WINDOWS; i++) {
        if (ranges[i].size == 0 || ranges[i].size > PC_WINDOW_BYTES ||
            ranges[i].base + ranges[i].size < ranges[i].base)
            continue;
        struct pc_window *w = &memory->windows[memory->next++ % PC_WINDOWS];
        w->base = ranges[i].base;
        w->size = 0;
        local[used] = (struct iovec){w->data, ranges[i].size};
        windows[used++] = w;
        pieces += cut(&ranges[i], remote + pieces);
    }
    ssize_t got = used ? process_vm_readv(memory->pid, local, used, remote, pieces, 0) : 0;
    for (unsigned i = 0; i < used && got > 0; i++) {
        windows[i]->size = (uint64_t)got < local[i].iov_len ? (uint64_t)got : local[i].iov_len;
        got -= (ssize_t)windows[i]->size;
    }
}

static const uint8_t *in_windows(const struct pc_target_memory *memory, uint64_t address, uint64_t length) {
    for (unsigned i = 0; i < PC_WINDOWS; i++) {
        const struct pc_window *w = &memory->windows[i];
        if (address >= w->base && w->size >= length && address - w->base <= w->size - length)
            return w->data + (address - w->base);
    }
    return 0;
}

bool pc_memory_holds(const struct pc_target_memory *memory, uint64_t address, uint64_t length) {
    return in_windows(memory, address, length) != 0;
}

static bool from_windows(const struct pc_target_memory *memory, uint64_t address, void *out,
                         uint64_t length) {
    const uint8_t *data = in_windows(memory, address, length);
    if (data)
        memcpy(out, data, length);
    return data != 0;
}

/* How much to fetch for a miss: a walk that leaves the end of a window will go on beyond it. */
static uint64_t miss_size(const struct pc_target_memory *memory, uint64_t address) {
    for (unsigned i = 0; i < PC_WINDOWS; i++) {
        const struct pc_window *w = &memory->windows[i];
        if (w->size && address >= w->base && address - w->base < w->size + PC_WINDOW_BYTES)
            return PC_WINDOW_BYTES;
    }
    return PAGE;
}

bool pc_memory_read(struct pc_target_memory *memory, uint64_t address, void *out, uint64_t length) {
    if (from_windows(memory, address, out, length))
        return true;
    if (length <= PAGE) {
        struct pc_range range = {address & ~63ull, miss_size(memory, address)};
        pc_memory_fetch(memory, &range, 1);
        if (from_windows(memory, address, out, length))
            return true;
    }
    struct iovec local = {out, length}, remote = {(void *)address, length};
    return address + length >= address &&
           process_vm_readv(memory->pid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

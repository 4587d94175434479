/* Before: a thread in a ptrace stop. After: the thread is as it was; the tracer holds at most the descriptors
 * it was handed. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PIDFD_THREAD
#define PIDFD_THREAD O_EXCL
#endif

enum { PAGE = 4096, VECTOR_LIMIT = 1024 };

size_t pc_peek(const struct pc_thread *thread, uint64_t address, void *buffer, size_t length) {
    struct iovec local = {.iov_base = buffer, .iov_len = length};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = length};
    if (length == 0)
        return 0;
    ssize_t got = process_vm_readv(thread->tid, &local, 1, &remote, 1, 0);
    return got < 0 ? 0 : (size_t)got;
}

bool pc_poke(const struct pc_thread *thread, uint64_t address, const void *buffer, size_t length) {
    struct iovec local = {.iov_base = (void *)buffer, .iov_len = length};
    struct iovec remote = {.iov_base = (void *)address, .iov_len = length};
    return process_vm_writev(thread->tid, &local, 1, &remote, 1, 0) == (ssize_t)length;
}

int pc_peek_string(const struct pc_thread *thread, uint64_t address, char *buffer, size_t size) {
    size_t got = 0;
    while (got < size) {
        /* To the end of the page only: the string may end where readable memory does. Short first, since
         * most names are. */
        size_t piece = PAGE - (size_t)((address + got) % PAGE);
        size_t wanted = got == 0 && piece > 256 ? 256 : piece;
        if (wanted > size - got)
            wanted = size - got;
        if (pc_peek(thread, address + got, buffer + got, wanted) != wanted)
            return -1;
        const char *end = memchr(buffer + got, '\0', wanted);
        if (end != NULL)
            return (int)(end - buffer);
        got += wanted;
    }
    return -1;
}

size_t pc_peek_vector(const struct pc_thread *thread, uint64_t address, uint64_t count, void *buffer,
                      size_t length) {
    struct iovec remote[VECTOR_LIMIT];
    if (count > VECTOR_LIMIT)
        count = VECTOR_LIMIT; /* the kernel refuses more */
    size_t got = pc_peek(thread, address, remote, count * sizeof(remote[0])) / sizeof(remote[0]);
    size_t used = 0, left = length;
    for (; used < got && left > 0; used++) {
        if (remote[used].iov_len > left)
            remote[used].iov_len = left;
        left -= remote[used].iov_len;
    }
    struct iovec local = {.iov_base = buffer, .iov_len = length - left};
    if (used == 0 || local.iov_len == 0)
        return 0;
    ssize_t read = process_vm_readv(thread->tid, &local, 1, remote, used, 0);
    return read < 0 ? 0 : (size_t)read;
}

static int open_pidfd(const struct pc_thread *thread) {
    /* Of the thread itself where the kernel can (6.9): threads may have their own descriptors, and a leader
     * that has ended has none. */
    int pidfd = (int)syscall(SYS_pidfd_open, thread->tid, PIDFD_THREAD);
    if (pidfd < 0)
        pidfd = (int)syscall(SYS_pidfd_open, thread->tgid, 0);
    return pidfd;
}

int pc_dup_remote(struct pc_thread *thread, int fd) {
    if (fd < 0)
        return -1;
    if (thread->pidfd < 0)
        thread->pidfd = open_pidfd(thread);
    if (thread->pidfd >= 0) {
        int copy = (int)syscall(SYS_pidfd_getfd, thread->pidfd, fd, 0);
        if (copy >= 0 || errno == EBADF)
            return copy;
    }
    return -1;
}

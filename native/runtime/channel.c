/* Making, mapping and filling a channel: what both sides use. */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static size_t head_size(void) {
    size_t page = 4096;
    return (sizeof(struct channel) + page - 1) & ~(page - 1);
}

size_t channel_size(uint32_t buffer) {
    return head_size() + (size_t)CHANNEL_RINGS * buffer * sizeof(struct record);
}

struct record *channel_records(struct channel *channel, unsigned ring) {
    return (struct record *)((char *)channel + head_size()) + (size_t)ring * channel->buffer;
}

int above_standard(int descriptor) {
    if (descriptor < 0 || descriptor > 2)
        return descriptor;
    int higher = fcntl(descriptor, F_DUPFD_CLOEXEC, 3), reason = errno;
    close(descriptor);
    errno = reason;
    return higher;
}

int channel_create(uint32_t buffer) {
    int file = above_standard(memfd_create("powercut", MFD_CLOEXEC));
    if (file < 0)
        return -1;
    struct channel *channel = MAP_FAILED;
    if (ftruncate(file, (off_t)channel_size(buffer)) == 0)
        channel = mmap(NULL, head_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (channel == MAP_FAILED) {
        int reason = errno;
        close(file);
        errno = reason;
        return -1;
    }
    channel->version = CHANNEL_VERSION;
    channel->buffer = buffer;
    channel->workers = 1;
    atomic_store(&channel->strings, 1); /* the string at 0 is empty */
    atomic_store(&channel->sites, 1);
    memcpy(channel->magic, CHANNEL_MAGIC, sizeof channel->magic);
    munmap(channel, head_size());
    return file;
}

struct channel *channel_map(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0)
        return NULL;
    struct channel *channel = MAP_FAILED;
    if ((size_t)status.st_size >= head_size())
        channel = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    if (channel == MAP_FAILED)
        return NULL;
    uint32_t buffer = channel->buffer;
    if (memcmp(channel->magic, CHANNEL_MAGIC, sizeof channel->magic) != 0 ||
        channel->version != CHANNEL_VERSION || buffer == 0 || buffer > CHANNEL_MOST_BUFFER ||
        (buffer & (buffer - 1)) != 0 || (size_t)status.st_size < channel_size(buffer)) {
        munmap(channel, (size_t)status.st_size);
        errno = EPROTO;
        return NULL;
    }
    return channel;
}

void channel_forget(struct channel *channel) {
    madvise(channel, channel_size(channel->buffer), MADV_REMOVE);
}

static uint32_t add_string(struct channel *channel, const char *text) {
    if (!text || !*text)
        return 0;
    size_t length = strnlen(text, 4096) + 1;
    uint32_t at = atomic_fetch_add(&channel->strings, (uint32_t)length);
    if (at > CHANNEL_STRINGS - length) {
        atomic_store(&channel->strings, CHANNEL_STRINGS); /* full from now on, and no overflow */
        return 0;
    }
    memcpy(channel->string + at, text, length - 1);
    return at;
}

const char *channel_string(const struct channel *channel, uint32_t at) {
    bool whole = at < CHANNEL_STRINGS && memchr(channel->string + at, 0, CHANNEL_STRINGS - at);
    return whole ? channel->string + at : "";
}

uint32_t channel_add_site(struct channel *channel, const char *file, const char *function, uint32_t line,
                          uint64_t offset) {
    uint32_t number = atomic_load(&channel->sites);
    do {
        if (number >= CHANNEL_SITES)
            return SITE_UNKNOWN;
    } while (!atomic_compare_exchange_weak(&channel->sites, &number, number + 1));
    struct channel_site *site = &channel->site[number];
    site->file = add_string(channel, file);
    site->function = add_string(channel, function);
    site->line = line;
    site->offset = offset;
    atomic_store_explicit(&site->ready, 1, memory_order_release);
    return number;
}

struct channel_finding *channel_add_finding(struct channel *channel, const struct channel_finding *finding) {
    uint32_t number = atomic_load(&channel->findings);
    do {
        if (number >= CHANNEL_FINDINGS) {
            atomic_fetch_add(&channel->lost_findings, 1);
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&channel->findings, &number, number + 1));
    struct channel_finding *added = &channel->finding[number];
    added->kind = finding->kind;
    added->at = finding->at;
    added->write = finding->write;
    added->other = finding->other;
    added->address = finding->address;
    added->size = finding->size;
    added->thread = finding->thread;
    atomic_store(&added->count, 1);
    atomic_store_explicit(&added->ready, 1, memory_order_release);
    return added;
}

void bell_wait(struct bell *bell, uint32_t seen, unsigned milliseconds) {
    struct timespec most = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    atomic_fetch_add(&bell->sleepers, 1);
    syscall(SYS_futex, &bell->rings, FUTEX_WAIT, seen, &most, NULL, 0);
    atomic_fetch_sub(&bell->sleepers, 1);
}

void bell_ring(struct bell *bell) {
    atomic_fetch_add(&bell->rings, 1);
    if (atomic_load(&bell->sleepers))
        syscall(SYS_futex, &bell->rings, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool process_is_gone(uint32_t pid) {
    int process = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    if (process < 0)
        return errno == ESRCH;
    struct pollfd ended = {.fd = process, .events = POLLIN};
    bool gone = poll(&ended, 1, 0) == 1; /* also of one that nobody has waited for */
    close(process);
    return gone;
}

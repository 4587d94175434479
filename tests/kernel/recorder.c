/* A disk that remembers: one FUSE folder with three files.
 *
 *   disk  the disk, as long as BASE and with its content. Writes change a private copy, and are logged.
 *   ctl   takes words: "mark N" puts N into the log; "delay USEC" lets each write take up to so long, so that
 * later ones overtake it; "reset" empties the log and makes the disk that of BASE again. log   the log:
 * records of {u32 kind, u32 length, u64 offset or mark}, data behind those of writes.
 *
 * A write is logged when it is finished, a flush when it arrives: what stands before a flush is what that
 * flush makes durable.
 *
 * usage: recorder BASE FOLDER. It prints "ready" once the folder is there, leaves the mount to the namespace
 * that it was started in, and ends when nobody has it mounted any more: so it never ends under a mounted file
 * system. */
#define FUSE_USE_VERSION 31
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WRITE = 1, FLUSH = 2, MARK = 3 };

static uint8_t *disk, *entries;
static size_t disk_size, used, room;
static unsigned slowest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void append(uint32_t kind, uint64_t where, const void *data, uint32_t length) {
    if (used + 16 + length > room) {
        room = 2 * room + 16 + length;
        entries = realloc(entries, room);
        if (entries == NULL) {
            abort();
        }
    }
    memcpy(entries + used, &kind, 4);
    memcpy(entries + used + 4, &length, 4);
    memcpy(entries + used + 8, &where, 8);
    memcpy(entries + used + 16, data, length);
    used += 16 + length;
}

static int rec_getattr(const char *path, struct stat *st, struct fuse_file_info *fi) {
    (void)fi;
    memset(st, 0, sizeof(*st));
    st->st_mode = S_IFREG | 0600;
    st->st_nlink = 1;
    if (strcmp(path, "/") == 0) {
        st->st_mode = S_IFDIR | 0700;
    } else if (strcmp(path, "/disk") == 0) {
        st->st_size = (off_t)disk_size;
    } else if (strcmp(path, "/log") == 0) {
        st->st_size = (off_t)used;
    } else if (strcmp(path, "/ctl") != 0) {
        return -ENOENT;
    }
    return 0;
}

static int rec_open(const char *path, struct fuse_file_info *fi) {
    (void)path;
    fi->direct_io = 1; /* nothing of it is cached: every write arrives here, as it was made */
    return 0;
}

static int rec_truncate(const char *path, off_t size, struct fuse_file_info *fi) {
    (void)path, (void)size, (void)fi;
    return 0;
}

static int rec_read(const char *path, char *into, size_t size, off_t offset, struct fuse_file_info *fi) {
    (void)fi;
    pthread_mutex_lock(&lock);
    bool log = strcmp(path, "/log") == 0;
    size_t end = log ? used : disk_size, from = (size_t)offset < end ? (size_t)offset : end;
    size_t count = size < end - from ? size : end - from;
    memcpy(into, (log ? entries : disk) + from, count);
    pthread_mutex_unlock(&lock);
    return (int)count;
}

static int control(const char *text, size_t size) {
    char words[32] = {0};
    memcpy(words, text, size < sizeof(words) - 1 ? size : sizeof(words) - 1);
    unsigned long number = 0;
    pthread_mutex_lock(&lock);
    if (sscanf(words, "mark %lu", &number) == 1) {
        append(MARK, number, NULL, 0);
    } else if (sscanf(words, "delay %lu", &number) == 1) {
        slowest = (unsigned)number;
    } else if (strcmp(words, "reset") == 0) {
        madvise(disk, disk_size, MADV_DONTNEED); /* private pages go, those of BASE come back */
        used = 0;
    }
    pthread_mutex_unlock(&lock);
    return (int)size;
}

static int rec_write(const char *path, const char *data, size_t size, off_t offset,
                     struct fuse_file_info *fi) {
    (void)fi;
    if (strcmp(path, "/ctl") == 0) {
        return control(data, size);
    }
    if (offset < 0 || (size_t)offset + size > disk_size) {
        return -ENOSPC;
    }
    if (slowest > 0) {
        usleep((unsigned)rand() % slowest);
    }
    pthread_mutex_lock(&lock);
    memcpy(disk + offset, data, size);
    append(WRITE, (uint64_t)offset, data, (uint32_t)size);
    pthread_mutex_unlock(&lock);
    return (int)size;
}

static int rec_fsync(const char *path, int datasync, struct fuse_file_info *fi) {
    (void)datasync, (void)fi;
    if (strcmp(path, "/disk") == 0) {
        pthread_mutex_lock(&lock);
        append(FLUSH, 0, NULL, 0);
        pthread_mutex_unlock(&lock);
    }
    return 0;
}

/* What a hole is punched for (discard, zeroes by the device) is done as a write of zeros; nothing else is
 * known here. */
static int rec_fallocate(const char *path, int mode, off_t offset, off_t length, struct fuse_file_info *fi) {
    (void)path, (void)mode, (void)offset, (void)length, (void)fi;
    return -EOPNOTSUPP;
}

static const struct fuse_operations operations = {
    .getattr = rec_getattr,
    .open = rec_open,
    .truncate = rec_truncate,
    .read = rec_read,
    .write = rec_write,
    .fsync = rec_fsync,
    .fallocate = rec_fallocate,
};

int main(int count, char **words) {
    struct stat st;
    int base = count == 3 ? open(words[1], O_RDONLY | O_CLOEXEC) : -1;
    if (base < 0 || fstat(base, &st) != 0) {
        fprintf(stderr, "usage: recorder BASE FOLDER\n");
        return 2;
    }
    disk_size = (size_t)st.st_size;
    disk = mmap(NULL, disk_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, base, 0);
    if (disk == MAP_FAILED) {
        perror("recorder: mmap");
        return 1;
    }
    char *arguments[] = {words[0], "-o", "fsname=powercut-recorder", NULL};
    struct fuse_args args = FUSE_ARGS_INIT(3, arguments);
    struct fuse *fuse = fuse_new(&args, &operations, sizeof(operations), NULL);
    if (fuse == NULL || fuse_mount(fuse, words[2]) != 0) {
        return 1;
    }
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        umount2(words[2], MNT_DETACH) != 0) {
        perror("recorder: unshare");
        return 1;
    }
    printf("ready\n");
    fclose(stdout);
    return fuse_loop_mt(fuse, 0) < 0;
}

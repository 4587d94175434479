/* The trace file: extents reserved by fallocate and mapped MAP_SHARED; a record counts once `used` is raised.
 *
 * Three extents are open at a time, one for each kind. When one is full, its successor is appended to the
 * file, twice as large up to a limit, so that short runs stay small and long ones do few system calls. */
#define _GNU_SOURCE
#include "trace/writer.h"
#include "byte_strings.h"
#include "hash_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { KINDS = 4, TABLES = 8 };
enum { LEAST_BULK = 32 << 10 }; /* bytes for which a call costs less than mapping new pages */

static const uint64_t first_capacity[KINDS] = {0, 64 << 10, 16 << 10, 128 << 10};
static const uint64_t largest_capacity = 32 << 20;

struct extent {
    struct pc_extent_header *header; /* NULL: none open */
    unsigned char *payload;
    uint64_t position; /* of the payload in the file */
    void *map;
    size_t map_length;
    uint64_t next_capacity;
};

struct interned {
    uint64_t hash;
    char *bytes;
    size_t length;
    uint32_t id; /* 0: free slot */
};

static inline bool strings_used(const struct interned *slot) {
    return slot->id != 0;
}

static inline struct pc_bytes strings_key(const struct interned *slot) {
    return (struct pc_bytes){slot->bytes, slot->length, slot->hash};
}

static inline uint64_t strings_hash(struct pc_bytes key) {
    return key.hash;
}

static inline bool strings_same(struct pc_bytes one, struct pc_bytes other) {
    return pc_bytes_same(one, other);
}

PC_HASH_TABLE(strings, struct interned, struct pc_bytes, 1024)

struct pc_writer {
    int file;
    int error;
    uint64_t end; /* where the next extent starts */
    struct extent extents[KINDS];
    uint32_t next_id[TABLES];
    struct strings strings;
    const char **texts; /* by id - 1: bytes of `strings` */
    size_t text_room;
};

static uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Makes sure that [position, position + length) can be written without SIGBUS. */
static int reserve(struct pc_writer *writer, uint64_t position, uint64_t length) {
    int result;
    do {
        result = fallocate(writer->file, 0, (off_t)position, (off_t)length);
    } while (result != 0 && errno == EINTR);
    if (result == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    return ftruncate(writer->file, (off_t)(position + length)) == 0 ? 0 : errno;
}

static void retire(struct extent *extent) {
    if (extent->header != NULL)
        munmap(extent->map, extent->map_length);
    extent->header = NULL;
}

/* Appends an extent with room for at least `needed` bytes; false on failure, with writer->error set. */
static bool append_extent(struct pc_writer *writer, uint32_t kind, uint64_t needed) {
    struct extent *extent = &writer->extents[kind];
    uint64_t capacity = extent->next_capacity;
    if (capacity < needed)
        capacity = round_up(needed, PC_EXTENT_ALIGN);
    if (extent->next_capacity < largest_capacity)
        extent->next_capacity *= 2;
    retire(extent);
    uint64_t start = writer->end;
    uint64_t length = sizeof(struct pc_extent_header) + capacity;
    writer->error = reserve(writer, start, length);
    if (writer->error != 0)
        return false;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t map_start = start / page * page;
    extent->map_length = (size_t)(start + length - map_start);
    extent->map =
        mmap(NULL, extent->map_length, PROT_READ | PROT_WRITE, MAP_SHARED, writer->file, (off_t)map_start);
    if (extent->map == MAP_FAILED) {
        writer->error = errno;
        return false;
    }
    extent->header = (struct pc_extent_header *)((unsigned char *)extent->map + (start - map_start));
    extent->payload = (unsigned char *)(extent->header + 1);
    extent->position = start + sizeof(struct pc_extent_header);
    writer->end = start + length;
    /* In this order a reader of a file cut short here finds an empty extent with nothing behind it. */
    extent->header->magic = PC_EXTENT_MAGIC;
    extent->header->kind = kind;
    __atomic_store_n(&extent->header->capacity, capacity, __ATOMIC_RELEASE);
    return true;
}

static bool write_file_header(struct pc_writer *writer) {
    struct pc_file_header header = {.version = PC_TRACE_VERSION,
                                    .header_size = sizeof(struct pc_file_header),
                                    .event_size = sizeof(struct pc_event),
                                    .entry_size = sizeof(struct pc_entry)};
    memcpy(header.magic, PC_TRACE_MAGIC, sizeof(header.magic));
    writer->end = sizeof(header);
    ssize_t written = pwrite(writer->file, &header, sizeof(header), 0);
    if (written < 0)
        return false;
    errno = ENOSPC;
    return written == (ssize_t)sizeof(header);
}

struct pc_writer *pc_writer_open(const char *path, char *error, size_t size) {
    struct pc_writer *writer = calloc(1, sizeof(*writer));
    if (writer == NULL) {
        snprintf(error, size, "out of memory");
        return NULL;
    }
    writer->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    for (int kind = 1; kind < KINDS; kind++)
        writer->extents[kind].next_capacity = first_capacity[kind];
    for (int kind = 0; kind < TABLES; kind++)
        writer->next_id[kind] = 1;
    if (writer->file >= 0 && strings_reserve(&writer->strings, 1) && write_file_header(writer))
        return writer;
    snprintf(error, size, "cannot write %s: %s", path, strerror(errno));
    if (writer->file >= 0)
        close(writer->file);
    strings_free(&writer->strings);
    free(writer);
    return NULL;
}

/* Room for one record of `length` bytes in the extent of `kind`, not yet committed; NULL on failure. */
static void *record_room(struct pc_writer *writer, uint32_t kind, uint64_t length) {
    struct extent *extent = &writer->extents[kind];
    if (writer->error != 0)
        return NULL;
    if (extent->header == NULL || extent->header->used + length > extent->header->capacity) {
        if (!append_extent(writer, kind, length))
            return NULL;
    }
    return extent->payload + extent->header->used;
}

static void commit(struct pc_writer *writer, uint32_t kind, uint64_t length) {
    struct pc_extent_header *header = writer->extents[kind].header;
    __atomic_store_n(&header->used, header->used + length, __ATOMIC_RELEASE);
}

void *pc_writer_blob_begin(struct pc_writer *writer, uint64_t length, uint64_t *offset) {
    *offset = 0;
    void *room = record_room(writer, PC_EXTENT_BLOBS, round_up(length, 8));
    if (room != NULL) {
        struct extent *extent = &writer->extents[PC_EXTENT_BLOBS];
        *offset = extent->position + extent->header->used;
    }
    return room;
}

void pc_writer_blob_commit(struct pc_writer *writer, uint64_t length) {
    if (writer->error == 0)
        commit(writer, PC_EXTENT_BLOBS, round_up(length, 8));
}

uint64_t pc_writer_blob(struct pc_writer *writer, const void *data, uint64_t length) {
    uint64_t offset;
    void *room = pc_writer_blob_begin(writer, length, &offset);
    if (room == NULL)
        return 0;
    memcpy(room, data, length);
    pc_writer_blob_commit(writer, length);
    return offset;
}

/* Writes a whole extent with these bytes; how many of them could be written, -1: none. */
static int64_t write_extent(const struct pc_writer *writer, const void *data, uint64_t length) {
    struct pc_extent_header header = {.magic = PC_EXTENT_MAGIC,
                                      .kind = PC_EXTENT_BLOBS,
                                      .capacity = round_up(length, PC_EXTENT_ALIGN),
                                      .used = length};
    struct iovec parts[] = {{&header, sizeof(header)}, {(void *)data, length}};
    ssize_t written = pwritev(writer->file, parts, 2, (off_t)writer->end);
    return written > (ssize_t)sizeof(header) ? written - (ssize_t)sizeof(header) : -1;
}

uint64_t pc_writer_bulk(struct pc_writer *writer, const void *data, uint64_t *length, uint64_t unit) {
    if (*length < LEAST_BULK)
        return pc_writer_blob(writer, data, *length);
    if (writer->error != 0)
        return 0;
    uint64_t start = writer->end;
    errno = ENOSPC;
    int64_t written = write_extent(writer, data, *length);
    if (written >= 0 && (uint64_t)written < *length) { /* the disk is full: the extent ends where it is */
        *length = (uint64_t)written / unit * unit;
        written = *length > 0 ? write_extent(writer, data, *length) : -1;
    }
    if (written < (int64_t)*length) {
        writer->error = errno;
        (void)!ftruncate(writer->file, (off_t)start); /* a part of an extent is none */
        return 0;
    }
    writer->end = start + sizeof(struct pc_extent_header) + round_up(*length, PC_EXTENT_ALIGN);
    return start + sizeof(struct pc_extent_header);
}

uint32_t pc_writer_entry(struct pc_writer *writer, uint32_t table_kind, const void *data, uint64_t length,
                         uint64_t extra) {
    if (table_kind >= TABLES)
        return 0;
    struct pc_entry entry = {.kind = table_kind, .length = length, .extra = extra};
    entry.data = pc_writer_blob(writer, data, length);
    void *room = record_room(writer, PC_EXTENT_TABLE, sizeof(entry));
    if (room == NULL)
        return 0;
    entry.id = writer->next_id[table_kind]++;
    memcpy(room, &entry, sizeof(entry));
    commit(writer, PC_EXTENT_TABLE, sizeof(entry));
    return entry.id;
}

void pc_writer_event(struct pc_writer *writer, const struct pc_event *event) {
    void *room = record_room(writer, PC_EXTENT_EVENTS, sizeof(*event));
    if (room == NULL)
        return;
    memcpy(room, event, sizeof(*event));
    commit(writer, PC_EXTENT_EVENTS, sizeof(*event));
}

/* Remembers which bytes an id stands for; without memory it stands for none. */
static void keep_text(struct pc_writer *writer, uint32_t id, const char *bytes) {
    if (id > writer->text_room) {
        size_t room = (size_t)id * 2 + 64;
        const char **grown = realloc(writer->texts, room * sizeof(*grown));
        if (grown == NULL)
            return;
        memset(grown + writer->text_room, 0, (room - writer->text_room) * sizeof(*grown));
        writer->texts = grown;
        writer->text_room = room;
    }
    writer->texts[id - 1] = bytes;
}

const char *pc_writer_text(const struct pc_writer *writer, uint32_t id) {
    return id == 0 || id > writer->text_room ? NULL : writer->texts[id - 1];
}

uint32_t pc_writer_string(struct pc_writer *writer, const char *bytes, size_t length) {
    struct pc_bytes key = pc_bytes_of(bytes, length);
    const struct interned *known = strings_find(&writer->strings, key);
    if (known != NULL)
        return known->id;
    uint32_t id = pc_writer_entry(writer, PC_TABLE_STRING, bytes, length, 0);
    char *copy = id == 0 ? NULL : malloc(length + 1);
    struct interned *slot = copy == NULL ? NULL : strings_take(&writer->strings, key);
    if (slot == NULL) {
        free(copy); /* without memory the string is merely written again next time */
        return id;
    }
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    keep_text(writer, id, copy);
    *slot = (struct interned){.hash = key.hash, .bytes = copy, .length = length, .id = id};
    return id;
}

int pc_writer_error(const struct pc_writer *writer) {
    return writer->error;
}

/* Gives back what was reserved and not used: the tail of the file, and holes where other extents end. */
static void trim(struct pc_writer *writer) {
    uint64_t end = writer->end;
    for (int kind = 1; kind < KINDS; kind++) {
        const struct extent *extent = &writer->extents[kind];
        if (extent->header == NULL)
            continue;
        uint64_t used_end = extent->position + extent->header->used;
        uint64_t full_end = extent->position + extent->header->capacity;
        if (full_end == writer->end)
            end = used_end;
        else if (full_end > used_end)
            (void)fallocate(writer->file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)used_end,
                            (off_t)(full_end - used_end));
    }
    if (ftruncate(writer->file, (off_t)end) != 0 && writer->error == 0)
        writer->error = errno;
}

int pc_writer_close(struct pc_writer *writer) {
    trim(writer);
    for (int kind = 1; kind < KINDS; kind++)
        retire(&writer->extents[kind]);
    if (close(writer->file) != 0 && writer->error == 0)
        writer->error = errno;
    int error = writer->error;
    for (size_t i = 0; i < writer->strings.size; i++)
        free(writer->strings.slots[i].bytes);
    strings_free(&writer->strings);
    free(writer->texts);
    free(writer);
    return error;
}

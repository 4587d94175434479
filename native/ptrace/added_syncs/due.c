/* See added_syncs/due.h. */
#define _GNU_SOURCE
#include "added_syncs/due.h"

#include <stdlib.h>

enum { LINE = 64 };

/* Room for one more item of `size` bytes; NULL: there is none. */
static void *with_room(void *items, size_t count, size_t *room, size_t size) {
    if (count < *room)
        return items;
    size_t wanted = *room * 2 + 16;
    void *grown = realloc(items, wanted * size);
    if (grown != NULL)
        *room = wanted;
    return grown;
}

static uint64_t hash_of(const struct pc_due_thing *thing) {
    uint64_t hash = thing->inode * 0x9e3779b97f4a7c15ull ^ thing->pid;
    hash = (hash ^ hash >> 29) * 0xff51afd7ed558ccdull ^ thing->offset / LINE;
    hash = (hash ^ hash >> 32) * 0xc4ceb9fe1a85ec53ull;
    return hash | 1;
}

void pc_due_add(struct pc_due *due, const struct pc_due_thing *thing) {
    if (!pc_number_set_add(&due->known, hash_of(thing)))
        return;
    struct pc_due_thing *things = with_room(due->things, due->count, &due->room, sizeof(*things));
    if (things == NULL)
        return;
    due->things = things;
    due->things[due->count++] = *thing;
}

void pc_due_forget(struct pc_due *due, uint64_t inode) {
    struct pc_due_thing thing = {.inode = inode};
    uint64_t hash = hash_of(&thing);
    if (!pc_number_set_has(&due->known, hash))
        return;
    pc_number_set_drop(&due->known, hash);
    size_t left = 0;
    for (size_t i = 0; i < due->count; i++)
        if (hash_of(&due->things[i]) != hash)
            due->things[left++] = due->things[i];
    due->count = left;
}

void pc_due_free(struct pc_due *due) {
    pc_number_set_free(&due->known);
    free(due->things);
    *due = (struct pc_due){0};
}

static struct pc_mapped_file *find(const struct pc_mapped_files *files, uint32_t pid, uint16_t file) {
    for (size_t i = files->count; i > 0; i--)
        if (files->items[i - 1].pid == pid && files->items[i - 1].file == file)
            return &files->items[i - 1];
    return NULL;
}

void pc_mapped_files_set(struct pc_mapped_files *files, uint32_t pid, uint16_t file, uint64_t inode) {
    struct pc_mapped_file *known = find(files, pid, file);
    if (known != NULL) {
        known->inode = inode;
        return;
    }
    struct pc_mapped_file *items = with_room(files->items, files->count, &files->room, sizeof(*items));
    if (items == NULL)
        return;
    files->items = items;
    files->items[files->count++] = (struct pc_mapped_file){pid, file, inode};
}

uint64_t pc_mapped_files_get(const struct pc_mapped_files *files, uint32_t pid, uint16_t file) {
    const struct pc_mapped_file *known = find(files, pid, file);
    return known != NULL ? known->inode : 0;
}

void pc_mapped_files_free(struct pc_mapped_files *files) {
    free(files->items);
    *files = (struct pc_mapped_files){0};
}

/* One run, of the process that stored: it knows what the numbers of files mean. */
static void write_run(struct pc_recorder *recorder, const struct pc_event *where, uint32_t pid,
                      const struct pc_memory *records, size_t count) {
    struct pc_event event = {.kind = PC_MEMORY, .flags = PC_FLAG_ADDED, .pid = pid, .tid = where->tid};
    event.length = count * sizeof(*records);
    event.data = pc_writer_bulk(recorder->writer, records, &event.length, sizeof(*records));
    if (event.data != 0)
        pc_writer_event(recorder->writer, &event);
}

void pc_due_flush(const struct pc_due *due, const struct pc_mapped_files *files, struct pc_recorder *recorder,
                  const struct pc_event *where) {
    struct pc_memory *records = malloc((due->count + 2) * sizeof(*records));
    if (records == NULL)
        return;
    for (size_t i = 0; i < due->count;) {
        uint32_t pid = due->things[i].pid;
        size_t count = 0;
        records[count++] = (struct pc_memory){.value = where->tid, .kind = PC_MEMORY_THREAD};
        for (; i < due->count && due->things[i].pid == pid; i++) {
            const struct pc_due_thing *line = &due->things[i];
            if (pc_mapped_files_get(files, pid, line->file) != line->inode)
                continue; /* the number means another file by now */
            records[count++] = (struct pc_memory){.offset = line->offset / LINE * LINE,
                                                  .stack = where->stack,
                                                  .file = line->file,
                                                  .kind = PC_MEMORY_FLUSH,
                                                  .size = PC_FLUSH_CLWB};
        }
        records[count++] =
            (struct pc_memory){.stack = where->stack, .kind = PC_MEMORY_FENCE, .size = PC_FENCE_SFENCE};
        write_run(recorder, where, pid, records, count);
    }
    free(records);
}

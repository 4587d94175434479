/* See added_syncs/added.h. Each sync of the plan has what is due in the order in which it became so, each
 * thing once. */
#define _GNU_SOURCE
#include "added_syncs/added.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "added_syncs/due.h"
#include "stacks/capture.h"

enum what { FILE_SYNC, DATA_SYNC, FOLDER_SYNC, LINES_SYNC };

static const char *const what_names[] = {"file", "data", "directory", "lines"};

struct call {
    uint64_t stack; /* its name */
    uint16_t kind;
};

struct calls {
    struct call *items;
    size_t count;
};

struct sync {
    enum what what;
    struct calls of, at;
    struct pc_due due;
};

struct pc_added {
    struct sync *syncs;
    size_t count;
    struct pc_mapped_files files;
    struct pc_event waiting; /* who the syncs are put in front of, or behind; kind 0: nothing waits */
    bool behind;
};

static bool add_sync(struct pc_added *added, const char *name) {
    struct sync *grown = realloc(added->syncs, (added->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return false;
    added->syncs = grown;
    for (unsigned i = 0; i < sizeof(what_names) / sizeof(what_names[0]); i++) {
        if (strcmp(name, what_names[i]) == 0) {
            grown[added->count++] = (struct sync){.what = (enum what)i};
            return true;
        }
    }
    return false;
}

static bool add_call(struct calls *calls, const struct call *call) {
    struct call *grown = realloc(calls->items, (calls->count + 1) * sizeof(*grown));
    if (grown == NULL)
        return false;
    calls->items = grown;
    calls->items[calls->count++] = *call;
    return call->stack != 0;
}

static bool parse_line(struct pc_added *added, const char *line) {
    struct sync *last = added->count > 0 ? &added->syncs[added->count - 1] : NULL;
    struct call call;
    char word[16];
    if (sscanf(line, "sync %15s", word) == 1)
        return add_sync(added, word);
    if (last == NULL || sscanf(line, "%*s %" SCNx64 " %" SCNu16, &call.stack, &call.kind) != 2)
        return false;
    if (strncmp(line, "of ", 3) == 0)
        return add_call(&last->of, &call);
    return strncmp(line, "at ", 3) == 0 && add_call(&last->at, &call);
}

static bool read_plan(struct pc_added *added, FILE *file) {
    char line[256];
    while (fgets(line, sizeof(line), file) != NULL) {
        errno = EINVAL;
        if (!parse_line(added, line))
            return false;
    }
    return true;
}

struct pc_added *pc_added_open(const char *path, char *error, size_t size) {
    struct pc_added *added = calloc(1, sizeof(*added));
    FILE *file = added != NULL ? fopen(path, "re") : NULL;
    bool read = file != NULL && read_plan(added, file);
    if (!read)
        snprintf(error, size, "cannot read the plan of syncs %s: %s", path, strerror(errno));
    if (file != NULL)
        fclose(file);
    if (read)
        return added;
    if (added != NULL)
        pc_added_free(added);
    return NULL;
}

void pc_added_free(struct pc_added *added) {
    for (size_t i = 0; i < added->count; i++) {
        pc_due_free(&added->syncs[i].due);
        free(added->syncs[i].of.items);
        free(added->syncs[i].at.items);
    }
    free(added->syncs);
    pc_mapped_files_free(&added->files);
    free(added);
}

/* The inode of the folder in which an event changed a name: where one appeared, or else where one went; 0 if
 * it changed none. */
static uint64_t folder_of(const struct pc_recorder *recorder, const struct pc_event *event) {
    char path[PATH_MAX];
    struct stat status;
    bool moves = event->kind == PC_RENAME || event->kind == PC_LINK;
    const char *name = pc_writer_text(recorder->writer, moves ? event->path2 : event->path);
    if (event->kind < PC_CREATE || event->kind > PC_RENAME || name == NULL)
        return 0;
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", recorder->dir, name) >= sizeof(path))
        return 0;
    *strrchr(path, '/') = '\0';
    return stat(path[0] != '\0' ? path : "/", &status) == 0 ? status.st_ino : 0;
}

static bool is_at(const struct calls *calls, uint64_t stack, uint16_t kind) {
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].kind == kind && calls->items[i].stack == stack)
            return true;
    return false;
}

/* Notes that the syncs which are due wait to be written, if an event is one that they belong in front of. */
static bool finds_due(struct pc_added *added, const struct pc_recorder *recorder,
                      const struct pc_event *event) {
    uint64_t stack = pc_stacks_name(recorder->stacks, event->stack);
    for (size_t i = 0; i < added->count; i++) {
        const struct sync *sync = &added->syncs[i];
        if (sync->due.count > 0 && is_at(&sync->at, stack, event->kind)) {
            added->waiting = *event;
            added->behind = false;
            return true;
        }
    }
    return false;
}

/* Notes what an event makes due; whether a sync belongs right behind it. */
static bool makes_due(struct pc_added *added, const struct pc_recorder *recorder,
                      const struct pc_event *event, uint16_t file) {
    uint64_t stack = pc_stacks_name(recorder->stacks, event->stack);
    bool now = false;
    for (size_t i = 0; i < added->count; i++) {
        struct sync *sync = &added->syncs[i];
        if (!is_at(&sync->of, stack, event->kind))
            continue;
        struct pc_due_thing thing = {.inode = event->inode};
        if (sync->what == FOLDER_SYNC)
            thing.inode = folder_of(recorder, event);
        if (sync->what == LINES_SYNC)
            thing = (struct pc_due_thing){event->inode, event->offset, event->pid, file};
        if (thing.inode != 0 && (sync->what != LINES_SYNC || event->kind == PC_STORE))
            pc_due_add(&sync->due, &thing);
        now = now || (sync->at.count == 0 && sync->due.count > 0);
    }
    if (now) {
        added->waiting = *event;
        added->behind = true;
    }
    return now;
}

/* Writes what is due of one sync; of data of ordinary files an event for each, of lines a run. */
static void put(const struct sync *sync, const struct pc_added *added, struct pc_recorder *recorder) {
    const struct pc_event *where = &added->waiting;
    if (sync->what == LINES_SYNC) {
        pc_due_flush(&sync->due, &added->files, recorder, where);
        return;
    }
    struct pc_event event = {.kind = sync->what == DATA_SYNC ? PC_FDATASYNC : PC_FSYNC,
                             .flags = PC_FLAG_ADDED,
                             .pid = where->pid,
                             .tid = where->tid,
                             .stack = where->stack};
    for (size_t i = 0; i < sync->due.count; i++) {
        event.inode = sync->due.things[i].inode;
        pc_writer_event(recorder->writer, &event);
    }
}

void pc_added_put(struct pc_added *added, struct pc_recorder *recorder) {
    const struct pc_event *where = &added->waiting;
    uint64_t stack = pc_stacks_name(recorder->stacks, where->stack);
    for (size_t i = 0; where->kind != 0 && i < added->count; i++) {
        struct sync *sync = &added->syncs[i];
        const struct calls *calls = added->behind ? &sync->of : &sync->at;
        if ((sync->at.count == 0) != added->behind || !is_at(calls, stack, where->kind))
            continue;
        put(sync, added, recorder);
        pc_due_free(&sync->due);
    }
    added->waiting.kind = 0;
}

void pc_added_before(struct pc_added *added, struct pc_recorder *recorder, const struct pc_event *event) {
    if (event->stack != 0 && finds_due(added, recorder, event))
        pc_added_put(added, recorder);
}

/* Something new has an inode number: what was due of the file that had it before is gone. */
static void forget(struct pc_added *added, uint64_t inode) {
    for (size_t i = 0; i < added->count; i++)
        pc_due_forget(&added->syncs[i].due, inode);
}

void pc_added_behind(struct pc_added *added, struct pc_recorder *recorder, const struct pc_event *event) {
    if (event->kind >= PC_CREATE && event->kind <= PC_MKNOD)
        forget(added, event->inode);
    if (event->stack != 0 && makes_due(added, recorder, event, 0))
        pc_added_put(added, recorder);
}

/* A record as the event that readers make of it, as far as a plan is about it; kind 0: no plan is. */
static struct pc_event event_of(const struct pc_memory *record, uint32_t pid, uint32_t tid) {
    struct pc_event event = {.pid = pid, .tid = tid, .stack = record->stack, .offset = record->offset};
    switch (record->kind & ~PC_MEMORY_REST) {
    case PC_MEMORY_STORE:
    case PC_MEMORY_STORE_NONTEMPORAL:
    case PC_MEMORY_STORE_LOCKED:
    case PC_MEMORY_STORE_KERNEL:
        event.kind = PC_STORE;
        break;
    case PC_MEMORY_FLUSH:
        event.kind = PC_FLUSH;
        break;
    case PC_MEMORY_FENCE:
        event.kind = PC_FENCE;
        break;
    default:
        break;
    }
    return event;
}

uint64_t pc_added_scan(struct pc_added *added, struct pc_recorder *recorder, uint32_t pid, uint32_t tid,
                       const struct pc_memory *records, uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        const struct pc_memory *record = &records[i];
        bool rest = (record->kind & PC_MEMORY_REST) != 0;
        if (added->waiting.kind != 0 && !rest)
            return i; /* behind the instruction before it */
        if (record->kind == PC_MEMORY_THREAD)
            tid = (uint32_t)record->value;
        if (record->kind == PC_MEMORY_FILE)
            pc_mapped_files_set(&added->files, pid, record->file, record->value);
        struct pc_event event = event_of(record, pid, tid);
        if (event.kind == 0 || event.stack == 0)
            continue;
        if (!rest && finds_due(added, recorder, &event))
            return i;
        event.inode = event.kind == PC_FENCE ? 0 : pc_mapped_files_get(&added->files, pid, record->file);
        (void)makes_due(added, recorder, &event, record->file);
    }
    return count;
}

/* One walk over the events of a trace and the memory records between them, as they stand in the file.
 *
 * Nothing in the file is believed: a record that no tracer writes ends the walk with the reason.
 */
#include "lint/lint.h"

#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE         4096u
#define LARGEST_FILE ((uint64_t)1 << 50) /* as trace/reader.py */
#define AHEAD        24u                 /* records; their lines are fetched while others are worked on */
#define PAUSE_EVERY  (1u << 20)          /* records */

/* Whose records come. */
struct walk {
    struct lint *lint;
    struct lint_process *process;
    uint32_t thread;
    uint64_t fetched; /* key of the line that was fetched last */
};

static void read_record(struct pc_memory *record, const uint8_t *at) {
    memcpy(record, at, sizeof(*record)); /* which may stand anywhere */
}

/* The file of a record; 0 and an error if it was never named. */
static uint32_t file_of(struct walk *w, const struct pc_memory *record) {
    uint32_t file = record->file < w->process->room ? w->process->files[record->file] : 0;
    if (file == 0) {
        pc_lint_fail(w->lint, LINT_BROKEN, "a memory record is of a file that was never named");
    } else if (record->offset > LARGEST_FILE) {
        pc_lint_fail(w->lint, LINT_BROKEN, "a memory record is behind the end of any file");
        return 0;
    }
    return file;
}

static void take_store(struct walk *w, const struct pc_memory *record) {
    uint32_t file = file_of(w, record);
    w->lint->stores++;
    if (record->size < 1 || record->size > 8 || (record->offset & 7) + record->size > 8) {
        pc_lint_fail(w->lint, LINT_BROKEN, "a store is larger than a word");
    } else if (file != 0 && !w->lint->files[file].gone && w->lint->files[file].inode != 0) {
        pc_lint_store(w->lint, w->thread, file, record);
    }
}

static void take_flush(struct walk *w, const struct pc_memory *record) {
    uint32_t file = file_of(w, record);
    w->lint->flushes++;
    if (file != 0 && !w->lint->files[file].gone) {
        pc_lint_flush(w->lint, w->thread, file, record);
    }
}

static void take_name(struct walk *w, const struct pc_memory *record) {
    uint32_t file = pc_lint_file_of(w->lint, record->value);
    uint32_t *place = pc_lint_process_file(w->lint, w->process, record->file);
    if (place != NULL) {
        *place = file;
    }
}

static void take(struct walk *w, const struct pc_memory *record) {
    struct lint *lint = w->lint;
    if (record->stack >= lint->stack_count) {
        pc_lint_fail(lint, LINT_BROKEN, "a memory record refers to a stack that is not there");
        return;
    }
    switch (record->kind & ~PC_MEMORY_REST) {
    case PC_MEMORY_STORE:
    case PC_MEMORY_STORE_NONTEMPORAL:
    case PC_MEMORY_STORE_LOCKED:
    case PC_MEMORY_STORE_KERNEL:
        take_store(w, record);
        break;
    case PC_MEMORY_FLUSH:
        take_flush(w, record);
        break;
    case PC_MEMORY_FENCE:
        lint->fences++;
        pc_lint_fence(lint, w->thread, record);
        break;
    case PC_MEMORY_THREAD:
        w->thread = pc_lint_thread(lint, record->value);
        break;
    case PC_MEMORY_FILE:
        take_name(w, record);
        break;
    case PC_MEMORY_UNMAP:
    case PC_MEMORY_ASSERTION:
    case PC_MEMORY_LOAD:
    case PC_MEMORY_CANDIDATE:
    case PC_MEMORY_ORDER:
        file_of(w, record); /* what was stored stays where it is */
        break;
    case PC_MEMORY_EFFECT:
        break;
    default:
        pc_lint_fail(lint, LINT_BROKEN, "a memory record is none that a tracer writes");
    }
}

/* Starts fetching what the record will need. Neighbours mostly need the same. */
static void prefetch(struct walk *w, const uint8_t *at) {
    struct pc_memory record;
    read_record(&record, at);
    if (record.file < w->process->room) {
        uint64_t key = pc_lint_key(w->process->files[record.file], record.offset);
        if (key != w->fetched) {
            w->fetched = key;
            __builtin_prefetch(&w->lint->lines.slots[pc_lint_slot(&w->lint->lines, key)]);
        }
    }
}

static void walk_run(struct lint *lint, const struct pc_event *run) {
    const uint64_t size = sizeof(struct pc_memory), count = run->length / size;
    if (run->length % size != 0 || run->data > lint->trace_size ||
        run->length > lint->trace_size - run->data) {
        pc_lint_fail(lint, LINT_BROKEN, "a run of memory records lies outside the file");
        return;
    }
    struct walk w = {lint, pc_lint_process(lint, run->pid), pc_lint_thread(lint, run->tid), 0};
    const uint8_t *records = lint->trace + run->data;
    for (uint64_t i = 0; lint->error == LINT_FINE && i < count; i++) {
        struct pc_memory record;
        if (i + AHEAD < count) {
            prefetch(&w, records + (i + AHEAD) * size);
        }
        read_record(&record, records + i * size);
        take(&w, &record);
        if (i % PAUSE_EVERY == PAUSE_EVERY - 1 && !lint->pause(lint, run->data + i * size)) {
            pc_lint_fail(lint, LINT_INTERRUPTED, "");
        }
    }
}

/* Calls */

static void note_useful(struct lint *lint, uint64_t event) {
    if (lint->useful_count == lint->useful_room) {
        uint64_t room = 2 * lint->useful_room + 64;
        uint64_t *larger = realloc(lint->useful, room * sizeof(*larger));
        if (larger == NULL) {
            pc_lint_fail(lint, LINT_NO_MEMORY, "");
            return;
        }
        lint->useful = larger;
        lint->useful_room = room;
    }
    lint->useful[lint->useful_count++] = event;
}

static void sync_range(struct lint *lint, uint64_t number, uint32_t file, uint64_t from, uint64_t to) {
    if (file != 0 && pc_lint_sync(lint, file, from, to, lint->events[number].stack)) {
        note_useful(lint, number);
    }
}

static void sync_all(struct lint *lint, uint64_t number) {
    bool any = false;
    for (uint32_t file = 1; file <= lint->file_count; file++) {
        any |= pc_lint_sync(lint, file, 0, UINT64_MAX, lint->events[number].stack);
    }
    if (any) {
        note_useful(lint, number);
    }
}

static void take_write(struct lint *lint, uint64_t number, uint32_t file) {
    const struct pc_event *event = &lint->events[number];
    struct lint_file *written = &lint->files[file];
    uint64_t end = event->offset + event->length;
    written->written_from = event->offset < written->written_from ? event->offset : written->written_from;
    written->written_to = end > written->written_to ? end : written->written_to;
    if ((event->flags & (PC_FLAG_SYNC | PC_FLAG_DSYNC)) != 0) {
        sync_range(lint, number, file, 0, UINT64_MAX);
    }
}

static void take_msync(struct lint *lint, uint64_t number, uint32_t file) {
    const struct pc_event *event = &lint->events[number];
    lint->files[file].msynced = 1;
    if ((event->extra & MS_SYNC) != 0) {
        uint64_t from = event->offset / PAGE * PAGE, end = event->offset + event->length;
        sync_range(lint, number, file, from,
                   end < event->offset ? UINT64_MAX : (end + PAGE - 1) / PAGE * PAGE);
    }
}

/* A call that is about a file of which stores are known. */
static void take_file_call(struct lint *lint, uint64_t number, uint32_t file) {
    const struct pc_event *event = &lint->events[number];
    switch (event->kind) {
    case PC_FSYNC:
    case PC_FDATASYNC:
        sync_range(lint, number, file, 0, UINT64_MAX);
        break;
    case PC_MSYNC:
        take_msync(lint, number, file);
        break;
    case PC_WRITE:
        take_write(lint, number, file);
        break;
    case PC_TRUNCATE:
        pc_lint_forget(lint, file, (event->length + 63) / 64 * 64, UINT64_MAX);
        break;
    case PC_FALLOCATE:
        if ((event->extra & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0) {
            pc_lint_forget(lint, file, (event->offset + 63) / 64 * 64,
                           (event->offset + event->length) / 64 * 64);
        }
        break;
    case PC_UNLINK:
        if (event->extra == 0 || (event->flags & PC_FLAG_EXPORT) != 0) {
            pc_lint_file_gone(lint, event->inode);
        }
        break;
    default:
        break;
    }
}

static void take_call(struct lint *lint, uint64_t number) {
    const struct pc_event *event = &lint->events[number];
    uint32_t file = pc_map_get(&lint->by_inode, event->inode);
    switch (event->kind) {
    case PC_SYNC:
    case PC_SYNCFS:
        sync_all(lint, number);
        break;
    case PC_CREATE:
        pc_lint_file_made(lint, event->inode);
        break;
    case PC_RENAME:
        if (event->extra != 0 && (event->flags & PC_FLAG_EXCHANGE) == 0) {
            pc_lint_file_gone(lint, event->extra);
        }
        break;
    case PC_FORK:
        pc_lint_thread_started(lint, event->extra);
        break;
    default:
        if (file != 0) {
            take_file_call(lint, number, file);
        }
    }
}

void pc_lint_walk(struct lint *lint) {
    uint64_t records = 0;
    pc_lint_lines_start(lint);
    for (uint64_t i = 0; i < lint->event_count; i++) { /* written to before they are mapped, perhaps */
        if (lint->events[i].kind == PC_MMAP) {
            pc_lint_file_of(lint, lint->events[i].inode);
        }
    }
    for (uint64_t i = 0; i < lint->event_count && lint->error == LINT_FINE; i++) {
        const struct pc_event *event = &lint->events[i];
        if (event->stack >= lint->stack_count) {
            pc_lint_fail(lint, LINT_BROKEN, "an event refers to a stack that is not there");
        } else if (event->kind != PC_MEMORY) {
            take_call(lint, i);
        } else {
            walk_run(lint, event);
            records += event->length / sizeof(struct pc_memory);
        }
        if (records >= PAUSE_EVERY) { /* short runs, many of them */
            records = 0;
            if (!lint->pause(lint, event->data)) {
                pc_lint_fail(lint, LINT_INTERRUPTED, "");
            }
        }
    }
    if (lint->error == LINT_FINE) {
        pc_lint_end(lint);
    }
}

/* Whom a memory record is about: inodes, the numbers that processes give them, and threads. */
#include "lint/lint.h"

#include <string.h>

#define MOST_FILES (1u << (64 - LINT_LINE_BITS))

/* Room for one more in an array that counts from 1; the array, which may have moved, or NULL. */
static void *with_room(struct lint *lint, void *array, uint32_t count, uint32_t *room, size_t size) {
    if (count + 1 < *room) {
        return array;
    }
    uint32_t wanted = *room == 0 ? 16 : 2 * *room;
    uint8_t *larger = realloc(array, wanted * size);
    if (larger == NULL) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
        return NULL;
    }
    memset(larger + *room * size, 0, (wanted - *room) * size);
    *room = wanted;
    return larger;
}

static uint32_t new_file(struct lint *lint, uint64_t inode) {
    if (lint->file_count + 1 == MOST_FILES) {
        pc_lint_fail(lint, LINT_BROKEN, "more files are mapped than can be told apart");
        return 0;
    }
    void *files = with_room(lint, lint->files, lint->file_count, &lint->file_room, sizeof(*lint->files));
    if (files == NULL) {
        return 0;
    }
    lint->files = files;
    uint32_t number = ++lint->file_count;
    lint->files[number] = (struct lint_file){.inode = inode, .written_from = UINT64_MAX};
    if (!pc_map_put(&lint->by_inode, inode, number)) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
    }
    return number;
}

uint32_t pc_lint_file_of(struct lint *lint, uint64_t inode) {
    uint32_t number = pc_map_get(&lint->by_inode, inode);
    return number != 0 ? number : new_file(lint, inode);
}

void pc_lint_file_gone(struct lint *lint, uint64_t inode) {
    uint32_t number = pc_map_get(&lint->by_inode, inode);
    if (number != 0) {
        lint->files[number].gone = 1;
        lint->files[number].stored = 0;
        pc_lint_forget(lint, number, 0, UINT64_MAX);
    }
}

void pc_lint_file_made(struct lint *lint, uint64_t inode) {
    uint32_t before = pc_map_get(&lint->by_inode, inode);
    if (before == 0) {
        return;
    }
    pc_lint_file_gone(lint, inode);
    uint32_t number = new_file(lint, inode);
    for (uint32_t i = 1; number != 0 && i <= lint->process_count; i++) {
        struct lint_process *process = &lint->processes[i];
        for (uint32_t j = 0; j < process->room; j++) {
            if (process->files[j] == before) { /* a tracer that knows files by their inodes names it once */
                process->files[j] = number;
            }
        }
    }
}

struct lint_process *pc_lint_process(struct lint *lint, uint32_t pid) {
    uint32_t number = pc_map_get(&lint->by_pid, pid);
    if (number == 0) {
        void *processes = with_room(lint, lint->processes, lint->process_count, &lint->process_room,
                                    sizeof(*lint->processes));
        if (processes == NULL) {
            return NULL;
        }
        lint->processes = processes;
        number = ++lint->process_count;
        if (!pc_map_put(&lint->by_pid, pid, number)) {
            pc_lint_fail(lint, LINT_NO_MEMORY, "");
        }
    }
    return &lint->processes[number];
}

uint32_t *pc_lint_process_file(struct lint *lint, struct lint_process *process, uint16_t number) {
    if (number >= process->room) {
        uint32_t room = number + 16u;
        uint32_t *larger = realloc(process->files, room * sizeof(*larger));
        if (larger == NULL) {
            pc_lint_fail(lint, LINT_NO_MEMORY, "");
            return NULL;
        }
        memset(larger + process->room, 0, (room - process->room) * sizeof(*larger));
        process->files = larger;
        process->room = room;
    }
    return &process->files[number];
}

static uint32_t new_thread(struct lint *lint, uint64_t tid) {
    void *threads =
        with_room(lint, lint->threads, lint->thread_count, &lint->thread_room, sizeof(*lint->threads));
    if (threads == NULL) {
        return 0;
    }
    lint->threads = threads;
    uint32_t number = ++lint->thread_count;
    if (!pc_map_put(&lint->by_tid, tid, number)) {
        pc_lint_fail(lint, LINT_NO_MEMORY, "");
    }
    return number;
}

uint32_t pc_lint_thread(struct lint *lint, uint64_t tid) {
    uint32_t number = pc_map_get(&lint->by_tid, tid);
    return number != 0 ? number : new_thread(lint, tid);
}

void pc_lint_thread_started(struct lint *lint, uint64_t tid) {
    uint32_t before = pc_map_get(&lint->by_tid, tid);
    if (before != 0 && lint->threads[before].count != 0) {
        new_thread(lint, tid);
    }
}

void pc_lint_files_free(struct lint *lint) {
    for (uint32_t i = 1; i <= lint->process_count; i++) {
        free(lint->processes[i].files);
    }
    for (uint32_t i = 1; i <= lint->thread_count; i++) {
        free(lint->threads[i].flushed);
    }
    free(lint->processes);
    free(lint->threads);
    free(lint->files);
    free(lint->by_inode.slots);
    free(lint->by_pid.slots);
    free(lint->by_tid.slots);
}

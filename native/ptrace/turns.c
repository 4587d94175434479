/* See turns.h. The queue is a list through the threads themselves: nothing is allocated. */
#define _GNU_SOURCE
#include "turns.h"

#include <stddef.h>
#include <time.h>

#include "calls/calls.h"

enum {
    PATIENCE = 1000,       /* milliseconds */
    SYNC_PATIENCE = 30000, /* a sync may be slow, and waits for the disk only, never for another thread */
};

uint64_t pc_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool pc_turns_take(struct pc_turns *turns, struct pc_thread *thread) {
    if (turns->holder != NULL)
        return false;
    turns->holder = thread;
    turns->since = pc_now();
    return true;
}

void pc_turns_release(struct pc_turns *turns, const struct pc_thread *thread) {
    if (turns->holder == thread)
        turns->holder = NULL;
}

void pc_turns_wait(struct pc_turns *turns, struct pc_thread *thread) {
    thread->next_in_queue = NULL;
    if (turns->first == NULL)
        turns->first = thread;
    else
        turns->last->next_in_queue = thread;
    turns->last = thread;
}

struct pc_thread *pc_turns_pop(struct pc_turns *turns) {
    struct pc_thread *thread = turns->holder == NULL ? turns->first : NULL;
    if (thread != NULL)
        turns->first = thread->next_in_queue;
    return thread;
}

void pc_turns_leave(struct pc_turns *turns, struct pc_thread *thread) {
    struct pc_thread *before = NULL;
    for (struct pc_thread *at = turns->first; at != NULL; before = at, at = at->next_in_queue) {
        if (at != thread)
            continue;
        if (before == NULL)
            turns->first = at->next_in_queue;
        else
            before->next_in_queue = at->next_in_queue;
        if (turns->last == at)
            turns->last = before;
        return;
    }
}

void pc_turns_expire(struct pc_turns *turns) {
    if (turns->holder == NULL || turns->first == NULL)
        return;
    const struct pc_call_kind *kind = turns->holder->call.kind;
    uint64_t patience = kind != NULL && kind->slow ? SYNC_PATIENCE : PATIENCE;
    if (pc_now() - turns->since >= patience)
        turns->holder = NULL;
}

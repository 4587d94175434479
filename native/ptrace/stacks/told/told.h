/* Call stacks that the language's own runtime tells (told_format.h): of code that is interpreted or compiled
 * while it runs, and of whoever asked another thread for a call.
 *
 * Before: messages of agents inside the program, and a stopped thread at the entry of a call. After
 * pc_told_now: the trace's table entries (PC_TABLE_TOLD) of what the thread's own language says it does, and
 * of who asked for it; both none where nothing was told, or where what was told belongs to another program
 * that ran in the process before.
 */
#ifndef POWERCUT_STACKS_TOLD_TOLD_H
#define POWERCUT_STACKS_TOLD_TOLD_H

#include "stacks/modules/module.h"
#include "stacks/unwind/memory.h"

#include <sys/user.h>

struct pc_writer;
struct pc_told;

/* A thread; `lineage` tells address spaces apart. */
struct pc_teller {
    uint64_t lineage;
    pid_t tid;
};

/* One stack of the table; id 0: none. */
struct pc_told_stack {
    uint32_t id;
    uint64_t name; /* the same in every run */
};

struct pc_told *pc_told_new(struct pc_writer *writer);
void pc_told_free(struct pc_told *told);

/* A message of `length` bytes that stands at `address` in the program. Unknown ones are ignored. */
void pc_told_hear(struct pc_told *told, struct pc_teller teller, uint64_t address, const uint8_t *data,
                  size_t length);

/* A thread forked a process, whose memory is the same: so is the slot, until it says otherwise. */
void pc_told_fork(struct pc_told *told, uint64_t lineage, pid_t parent, pid_t child);

/* Where to look for what a thread says of itself: to be fetched before pc_told_now. Size 0: nowhere. */
struct pc_range pc_told_range(const struct pc_told *told, struct pc_teller teller);

/* What a thread runs, at the entry of a call with these registers, and what asked for it. */
void pc_told_now(struct pc_told *told, struct pc_teller teller, struct pc_target_memory *memory,
                 const struct user_regs_struct *regs, struct pc_told_stack *here,
                 struct pc_told_stack *asked);

/* What a thread says that it does, or else who asked for that: what it starts was asked for there. */
struct pc_told_stack pc_told_by(const struct pc_told *told, struct pc_teller teller,
                                struct pc_target_memory *memory);

/* Whether a file holds a runtime, whose frames a told stack says better. */
bool pc_told_is_runtime(const struct pc_module *module);

#endif

/* Call stacks of stopped threads, as interned PC_TABLE_STACK entries.
 *
 * Before: a traced thread is stopped in a system call and its registers are known. After pc_stack_capture:
 * the id of a table entry with its native frames, if the process runs CPython its Python frames, and what its
 * runtime tells; 0 if nothing could be told. The tracer says when a process image changes, forks or ends;
 * processes never heard of are taken as new.
 */
#ifndef POWERCUT_STACKS_CAPTURE_H
#define POWERCUT_STACKS_CAPTURE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

struct pc_reads;
struct pc_writer;
struct pc_stacks;

struct pc_stacks *pc_stacks_new(struct pc_writer *writer);
/* `reads` (may be NULL) is told what the stack was made from. */
uint32_t pc_stack_capture(struct pc_stacks *stacks, pid_t tgid, pid_t tid,
                          const struct user_regs_struct *regs, struct pc_reads *reads);
/* A message of a runtime (told_format.h) that stands at `address` in the process. */
void pc_stacks_told(struct pc_stacks *stacks, pid_t tgid, pid_t tid, uint64_t address, const uint8_t *message,
                    size_t length);
/* What a stack is called in every run (stacks/stable_name.h), by its id; 0 if it has no name. Names are kept
 * for the stacks that are captured after pc_stacks_keep_names. */
void pc_stacks_keep_names(struct pc_stacks *stacks);
uint64_t pc_stacks_name(const struct pc_stacks *stacks, uint32_t id);
void pc_stacks_exec(struct pc_stacks *stacks, pid_t tgid);
/* A thread of `parent` started a process: what that does, also as another program, was asked for by whatever
 * stack a runtime told of the thread. */
void pc_stacks_fork(struct pc_stacks *stacks, pid_t parent, pid_t thread, pid_t child);
void pc_stacks_gone(struct pc_stacks *stacks, pid_t tgid);
void pc_stacks_free(struct pc_stacks *stacks);

#endif

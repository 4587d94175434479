/* The other half of the memory tracer (grind/channel.h): answers what the Valgrind tool asks, and puts the
 * records it wrote into the trace, in order with the events.
 *
 * Before: pc_grind_open, and the program started by the command that pc_grind_command gives. The tracer's
 * loop tells of every entry of a call, fork, exec and end. After: every run of memory records stands in the
 * trace before each event that the program caused after them. */
#ifndef POWERCUT_VALGRIND_PROCESSES_H
#define POWERCUT_VALGRIND_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "start.h"
#include "thread.h"
#include "trace/recorder.h"
#include "valgrind/command.h"

struct pc_grind;

/* `tool` is the path of the Valgrind tool, `boards` what modes of it get. NULL on failure, with the reason in
 * `error`. */
struct pc_grind *pc_grind_open(struct pc_recorder *recorder, const char *tool,
                               const struct pc_grind_board boards[PC_GRIND_BOARDS], char *error, size_t size);
void pc_grind_free(struct pc_grind *grind);

/* The command that runs a program in the tool; NULL if there is no memory. Free the array, not the strings.
 */
char **pc_grind_command(struct pc_grind *grind, char **argv);

/* The descriptors that the command inherits. */
void pc_grind_inherit(const struct pc_grind *grind, int descriptors[PC_KEPT]);

enum pc_grind_entry {
    PC_GRIND_CALL,     /* a call of the program itself */
    PC_GRIND_OWN,      /* one of Valgrind's: of no concern */
    PC_GRIND_ANSWERED, /* a question: let the thread go on with *answer as the result */
};

/* At the entry of a filtered call, with its registers read. */
enum pc_grind_entry pc_grind_entry(struct pc_grind *grind, struct pc_thread *thread, int64_t *answer);

/* Writes all records that have been made so far into the trace. To be called before an event is written that
 * came after them. */
void pc_grind_close_runs(struct pc_grind *grind);

/* The registers that the program itself has in its call, where they are not the thread's. */
void pc_grind_registers(struct pc_grind *grind, const struct pc_thread *thread,
                        struct user_regs_struct *regs);

void pc_grind_fork(struct pc_grind *grind, pid_t parent, pid_t child);
/* `program` is what was executed; replaced by what the tool runs, if that is the tool. */
void pc_grind_exec(struct pc_grind *grind, pid_t tgid, char *program, size_t size);
void pc_grind_gone(struct pc_grind *grind, pid_t tgid);

#endif

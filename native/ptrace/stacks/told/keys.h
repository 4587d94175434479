/* By what a call is found that another thread asked for: see told_format.h. */
#ifndef POWERCUT_STACKS_TOLD_KEYS_H
#define POWERCUT_STACKS_TOLD_KEYS_H

#include "stacks/unwind/memory.h"

#include <sys/user.h>

/* The key of the call that these registers make, NUL-terminated; its length. 0: no such call, or no readable
 * path. */
size_t pc_told_key(struct pc_target_memory *memory, const struct user_regs_struct *regs, char *key,
                   size_t size);

/* Whether it is one of several calls by which a runtime copies a file: they follow an open that was asked
 * for. */
bool pc_told_follows_open(const struct user_regs_struct *regs);

#endif

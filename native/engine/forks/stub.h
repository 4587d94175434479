/* The few instructions in a zygote that fork it, and the files that it holds. */
#ifndef POWERCUT_STUB_H
#define POWERCUT_STUB_H

#include "forks.h"

#define PC_STUB_PAGE 4096
#define PC_STUB_ROOM 256 /* behind that, others may put code into the page */

/* Two bytes of the code of a stopped process. */
bool pc_peek_code(pid_t pid, uint64_t address, unsigned char code[2]);

/* The zygote stands at the entry of a call. After: it does not make it, and has a page with the stub. */
bool pc_put_stub(struct pc_zygote *zygote);

/* Lets the forks of a Python program end without taking the interpreter apart; others end as they always do.
 */
void pc_shorten_end(const struct pc_zygote *zygote);

/* Takes duplicates of the files that it reads; false if it holds anything else. */
bool pc_hold_files(struct pc_zygote *zygote);

#endif

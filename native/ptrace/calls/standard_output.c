/* What the program's standard output looks like to it: as on a terminal, each line counts when it is printed.
 *
 * The C library looks at descriptor 1 once, before its first output. To a file it writes in blocks, so that
 * what was printed before a sync reaches the outside at exit only, and a promise that came too early would be
 * missed; to a terminal it writes line by line. It asks fstat for that, and believes the device's number. So
 * fstat calls the recorded file a terminal's device, while every ioctl of a terminal still fails: isatty says
 * no, and colours, prompts and progress bars stay as they are in a pipe.
 *
 * Before `leave`: fstat or newfstatat of descriptor 1, which still is the file that we record. After: type
 * and device number are those of a pseudo-terminal, all else is the file's. */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "calls/calls.h"

enum { FIRST_PTY_MAJOR = 136 }; /* Documentation/admin-guide/devices.txt */

static enum pc_verdict enter_stat(struct pc_recorder *recorder, struct pc_thread *thread) {
    struct pc_call *call = &thread->call;
    if (pc_call_target(recorder, thread, (int)call->arg[0]) != PC_TARGET_OUTPUT)
        return PC_SKIP;
    return call->channel == PC_CHANNEL_STDOUT && S_ISREG(call->status.st_mode) ? PC_WATCH : PC_SKIP;
}

static void leave_stat(struct pc_recorder *recorder, struct pc_thread *thread) {
    const struct pc_call *call = &thread->call;
    uint64_t at = call->arg[call->number == SYS_fstat ? 1 : 2];
    struct stat seen;
    if (call->result != 0 || pc_peek(thread, at, &seen, sizeof(seen)) != sizeof(seen))
        return;
    if (seen.st_ino != call->status.st_ino || seen.st_dev != call->status.st_dev)
        return; /* a name below a folder that is descriptor 1 */
    seen.st_mode = (seen.st_mode & ~(mode_t)S_IFMT) | S_IFCHR;
    seen.st_rdev = makedev(FIRST_PTY_MAJOR, 0);
    if (!pc_poke(thread, at, &seen, sizeof(seen)))
        pc_note(recorder, thread, "could not make the standard output of process %d line by line",
                thread->tgid);
}

const struct pc_call_entry pc_calls_standard_output[] = {
    {SYS_fstat, {enter_stat, leave_stat, false, NULL}},
    {SYS_newfstatat, {enter_stat, leave_stat, false, NULL}},
    {0, {NULL, NULL, false, NULL}},
};

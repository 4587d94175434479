/* The ends of a program that run no handlers: _exit and _Exit stand in front of the C library's, so that what
 * is open is reported as at any other end that the program chooses itself. */
#define _GNU_SOURCE
#include "program.h"

#include <sys/syscall.h>
#include <unistd.h>

#define IN_FRONT __attribute__((visibility("default"), noreturn))

IN_FRONT void _exit(int status) {
    if (self.pid == (uint32_t)getpid()) /* else a child of vfork, whose memory is its parent's */
        leave_ring(SITE_UNKNOWN);
    for (;;)
        syscall(SYS_exit_group, status);
}

IN_FRONT void _Exit(int status) {
    _exit(status);
}

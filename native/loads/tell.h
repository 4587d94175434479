/* How powercut-loads, a tool for Valgrind, tells powercut-ptrace --looks what a program has read: by a system
 * call that does not exist, which the filter of looks hands to the watcher as any other.
 *
 * Arguments: the secret of ptrace/looks/held_thread.h; an address of so many of these records; their number;
 * whether this is the last that the process has to tell. */
#ifndef POWERCUT_LOADS_TELL_H
#define POWERCUT_LOADS_TELL_H

#include <stdint.h>

#define PC_TELL_CALL 70000000

enum { PC_TELL_PAGE = 4096, PC_TELL_WORD = 8, PC_TELL_BYTES = PC_TELL_PAGE / PC_TELL_WORD / 8 };

struct pc_told_page {
    uint64_t inode;
    uint64_t offset; /* of the page in the file */
    unsigned char
        words[PC_TELL_BYTES]; /* a bit for each word of 8 bytes that was read, the first one lowest */
};

#endif

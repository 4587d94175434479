/* What a runtime tells the tracer: messages that an agent inside the program (src/powercut/runtimes) writes
 * to a descriptor that does not exist. The tracer takes them at the entry of write(2): nothing is ever
 * written. Without a tracer the kernel answers EBADF, and the agent does nothing more.
 *
 *   "pctold1" and one letter (8 bytes), then by the letter
 *
 *   S  struct pc_told_slot: from now on this memory, where it stands, says what the thread does that wrote it
 *   D  uint64_t number, language, NUL, text: a stack, which the program calls by this number
 *   A  uint64_t number, key: whichever other thread makes the call with this key was asked to by the stack
 *   H  language, NUL, version: the runtime of this process is followed
 *   N  text: it is not, and why
 *
 * A key is the kind of call, one letter, and its descriptor ("#5") or its path as the call has it:
 *   w write  s fsync  d fdatasync  t truncate  c close  o open  r rename (old)  u unlink, rmdir  m mkdir
 *   l link, symlink (new)  x chmod, chown
 *
 * Numbers are the program's, hence untrusted: what was never defined gives no frames. */
#ifndef POWERCUT_TOLD_FORMAT_H
#define POWERCUT_TOLD_FORMAT_H

#include <stdint.h>

#define PC_TOLD_FD    0x70637374 /* "tscp" in memory: far above any limit of descriptors */
#define PC_TOLD_MAGIC "pctold1"  /* 7 bytes, and the letter */
#define PC_TOLD_MOST  65536u     /* bytes of a message */

struct pc_told_slot {
    uint64_t here;  /* the stack that the thread runs now; 0: not known */
    uint64_t asked; /* the stack that asked for what it does; 0: none */
    uint64_t limit; /* `here` holds only while the stack pointer is below; 0: always */
};

#endif

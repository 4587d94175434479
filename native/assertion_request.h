/* How a program with assertions (powercut.h) speaks to the memory tracer it runs under: a client request of
 * Valgrind's, which does nothing anywhere else. Both sides include this file.
 *
 *   arguments: an operation of powercut.h, or 0 to ask whether it is this tracer; address; size
 *   answer: 1 */
#ifndef POWERCUT_ASSERTION_REQUEST_H
#define POWERCUT_ASSERTION_REQUEST_H

#define PC_ASSERTION_REQUEST 0x50550001 /* of the tool "PU" */
/* pc_sync_var. Arguments: address; size; what is there when the lock is free. Answer: 1 */
#define PC_SYNC_VAR_REQUEST 0x50550002
/* pc_recover_begin and pc_recover_end, made by the program itself. Argument: whether the recovery begins. */
#define PC_RECOVER_REQUEST 0x50550003

#endif

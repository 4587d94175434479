/* Which pages of mapped data files a program touches.
 *
 * A page that was touched through a mapping stands in the page tables of the process until something takes it
 * out of there. Before anything does (looks/mappings.c lists what can), and before the process ends, the
 * pages that stand there are written down as PC_LOOK_PAGES. Where that cannot be done in time, the file
 * counts as read in full. */
#ifndef POWERCUT_LOOKS_MAPPINGS_H
#define POWERCUT_LOOKS_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "trace/recorder.h"

struct pc_mappings;

/* NULL: pages cannot be followed here, every mapping is a look at all of it. `secret`: see
 * looks/held_thread.h. `told`: the program runs inside powercut-loads, which tells what is read; page tables
 * are not looked at. */
struct pc_mappings *pc_mappings_new(struct pc_recorder *recorder, uint64_t secret, bool told);

/* The call by which the tool tells (loads/tell.h). */
void pc_mappings_tell(struct pc_recorder *recorder, struct pc_thread *thread);

/* Before each call, whatever it is: writes down what it may take out of page tables. */
void pc_mappings_before(struct pc_recorder *recorder, struct pc_thread *thread);

/* The thread is about to map so much of a file. False: it is not followed, which the caller must write. */
bool pc_mappings_begin(struct pc_recorder *recorder, struct pc_thread *thread, const struct stat *status,
                       uint64_t offset, uint64_t length);

/* Around letting the thread do its call: the first before it, the second after. */
void pc_mappings_hold(struct pc_recorder *recorder, struct pc_thread *thread);
void pc_mappings_let_go(struct pc_recorder *recorder, struct pc_thread *thread);

/* The program has ended. Frees what there is. */
void pc_mappings_end(struct pc_recorder *recorder);

#endif

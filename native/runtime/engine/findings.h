/* What was found, each different thing once with a count, in the channel for everybody to read. */
#ifndef POWERCUT_FINDINGS_H
#define POWERCUT_FINDINGS_H

#include "../channel.h"
#include "engine.h"

struct findings;
struct findings *findings_open(struct channel *channel);
void findings_close(struct findings *findings);

/* A thread to be checked: its number among all. */
uint32_t findings_new_thread(struct findings *findings);

/* Take back warnings that another thread has made wrong since. */
void findings_settle(struct findings *findings);

/* Print everything that was found, and a line that sums it up. */
void findings_print(const struct channel *channel, int descriptor);

#endif

/* Taking records out of a channel's rings and checking them, by as many threads as the channel asks for. */
#ifndef POWERCUT_DRAIN_H
#define POWERCUT_DRAIN_H

#include "../channel.h"

struct engine;
struct findings;
struct trace_file;

/* Check until the program ends, and then what it left. `ended` becomes readable when it does (-1: when the
 * channel says that it closes). `trace`, if any, gets every record. 0, or -1 and errno. */
int drain(struct channel *channel, int ended, struct trace_file *trace);

/* An engine as the channel asks for. */
struct engine *open_engine(const struct channel *channel, struct findings *findings);

#endif

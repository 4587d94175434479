/* The outcome of a check as JSON, for powercut check. */
#ifndef POWERCUT_JSON_H
#define POWERCUT_JSON_H

#include "../channel.h"

#include <stdio.h>

/* How a program ended: an exit code or a signal; `trouble` is empty or says what went wrong with the
 * checking. */
struct ending {
    int code, signal;
    const char *trouble;
    int reason; /* errno of the trouble, or 0 */
};

void write_outcome(FILE *file, const struct channel *channel, const struct ending *ending);
void write_kinds(FILE *file);

#endif

/* What is wrong by itself and is known in the program already: a call before pc_init, a second pc_init. It
 * becomes part of the report where there is one, and a line on standard error where not. */
#define _GNU_SOURCE
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SAID = 1 }; /* the number of a place that was complained of outside of a session: no session has it */

void count_or_add(struct channel *channel, enum kind_number kind, uint32_t at) {
    at &= RECORD_SITE;
    uint32_t findings = atomic_load(&channel->findings);
    for (uint32_t i = 0; i < findings && i < CHANNEL_FINDINGS; i++) {
        struct channel_finding *finding = &channel->finding[i];
        if (atomic_load(&finding->ready) && finding->kind == (uint32_t)kind && finding->at == at) {
            atomic_fetch_add(&finding->count, 1);
            return;
        }
    }
    channel_add_finding(channel, &(struct channel_finding){.kind = kind, .at = at});
}

/* Outside of a session: into the report of the powercut check that started this program; false if none did.
 */
static bool add_to_given(enum kind_number kind, const struct pc_site *site) {
    const char *given = getenv("POWERCUT_CHANNEL");
    int descriptor = given && *given ? above_standard(open(given, O_RDWR | O_CLOEXEC)) : -1;
    struct channel *channel = descriptor >= 0 ? channel_map(descriptor) : NULL;
    if (channel)
        count_or_add(channel, kind, channel_add_site(channel, site->file, site->function, site->line, 0));
    if (descriptor >= 0)
        close(descriptor);
    return channel != NULL;
}

void complain(enum kind_number kind, struct pc_site *site) {
    int reason = errno;
    struct channel *channel = atomic_load(&session.channel);
    if (channel)
        count_or_add(channel, kind, number_of(site));
    else if (__atomic_exchange_n(&site->number, SAID, __ATOMIC_RELAXED) != SAID && !add_to_given(kind, site))
        dprintf(2, "powercut: %s:%u: %s in %s: nothing is checked here. %s [%s]\n", site->file, site->line,
                kinds[kind].why, site->function, kinds[kind].advice, kinds[kind].why);
    errno = reason;
}

/* The report of a program that runs by itself: a line for each finding, the worst first, and a line that sums
 * up. */
#include "findings.h"

#include <stdio.h>

struct line {
    char text[2048];
    size_t length;
};

static void add(struct line *line, const char *text) {
    for (; *text && line->length + 1 < sizeof line->text; text++)
        line->text[line->length++] = (unsigned char)*text < ' ' ? '?' : *text;
    line->text[line->length] = 0;
}

static void add_place(struct line *line, const struct channel *channel, uint32_t number) {
    const struct channel_site *site = number < CHANNEL_SITES ? &channel->site[number] : NULL;
    char rest[64];
    if (!number || !site || !atomic_load(&site->ready)) {
        add(line, number ? "an unknown place" : "the end of the program");
        return;
    }
    add(line, channel_string(channel, site->file));
    if (site->line)
        snprintf(rest, sizeof rest, ":%u", site->line);
    else
        snprintf(rest, sizeof rest, "+0x%llx", (unsigned long long)site->offset);
    add(line, rest);
}

static void print_finding(const struct channel *channel, const struct channel_finding *finding,
                          int descriptor) {
    const struct kind *kind = &kinds[finding->kind];
    struct line line = {.length = 0};
    char piece[2] = {0};
    add(&line, kind->severity == PC_FAIL ? "powercut: FAIL: " : "powercut: WARN: ");
    for (const char *c = kind->sentence; *c; c++) {
        if (*c == '%') {
            c++;
            add_place(&line, channel, *c == 'a' ? finding->at : *c == 'w' ? finding->write : finding->other);
        } else {
            piece[0] = *c;
            add(&line, piece);
        }
    }
    unsigned long long count = atomic_load(&finding->count);
    const char *slash = *kind->why ? "/" : "";
    dprintf(descriptor, "%s [%s%s%s%s%.0llu%s]\n", line.text, kind->name, slash, kind->why,
            count > 1 ? ", " : "", count > 1 ? count : 0ull, count > 1 ? " times" : "");
}

void findings_print(const struct channel *channel, int descriptor) {
    uint32_t findings = atomic_load(&channel->findings), told[3] = {0};
    for (int severity = PC_FAIL; severity >= PC_WARN; severity--) {
        for (uint32_t i = 0; i < findings && i < CHANNEL_FINDINGS; i++) {
            const struct channel_finding *finding = &channel->finding[i];
            if (!atomic_load(&finding->ready) || finding->kind >= KIND_COUNT ||
                (int)kinds[finding->kind].severity != severity)
                continue;
            print_finding(channel, finding, descriptor);
            told[severity]++;
        }
    }
    uint32_t lost = atomic_load(&channel->lost_findings);
    if (lost)
        dprintf(descriptor, "powercut: %u more findings were dropped for lack of space\n", lost);
    if (told[PC_FAIL] + told[PC_WARN])
        dprintf(descriptor, "powercut: %u failures, %u warnings after %llu operations (model %s)\n",
                told[PC_FAIL], told[PC_WARN], (unsigned long long)atomic_load(&channel->checked),
                channel->model);
}

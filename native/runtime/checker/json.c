/* JSON, written by hand: a few objects of strings and numbers. Strings are any bytes; those outside of ASCII
 * are written as escapes of the code points U+DC80 to U+DCFF, as Python's surrogateescape has them. */
#include "json.h"

#include "../engine/kinds.h"

static void text(FILE *file, const char *name, const char *value, const char *end) {
    fprintf(file, "\"%s\": \"", name);
    for (const unsigned char *c = (const unsigned char *)value; *c; c++) {
        if (*c == '"' || *c == '\\')
            fprintf(file, "\\%c", *c);
        else if (*c >= 0x80)
            fprintf(file, "\\udc%02x", *c);
        else if (*c < 0x20 || *c == 0x7f)
            fprintf(file, "\\u%04x", *c);
        else
            putc(*c, file);
    }
    fprintf(file, "\"%s", end);
}

static void number(FILE *file, const char *name, uint64_t value, const char *end) {
    fprintf(file, "\"%s\": %llu%s", name, (unsigned long long)value, end);
}

static void place(FILE *file, const char *name, const struct channel *channel, uint32_t site) {
    bool known = site != SITE_UNKNOWN && site < CHANNEL_SITES && atomic_load(&channel->site[site].ready);
    if (!known) {
        fprintf(file, "\"%s\": null, ", name);
        return;
    }
    fprintf(file, "\"%s\": {", name);
    text(file, "file", channel_string(channel, channel->site[site].file), ", ");
    text(file, "function", channel_string(channel, channel->site[site].function), ", ");
    number(file, "line", channel->site[site].line, ", ");
    number(file, "offset", channel->site[site].offset, "}, ");
}

static void kind(FILE *file, uint32_t number_of_kind) {
    const struct kind *row = &kinds[number_of_kind];
    text(file, "kind", row->name, ", ");
    text(file, "why", row->why, ", ");
    text(file, "severity", row->severity == PC_FAIL ? "fail" : "warn", ", ");
    text(file, "sentence", row->sentence, ", ");
    text(file, "advice", row->advice, "");
}

static void write_finding(FILE *file, const struct channel *channel, const struct channel_finding *finding) {
    fputs("{", file);
    place(file, "at", channel, finding->at);
    place(file, "write", channel, finding->write);
    place(file, "other", channel, finding->other);
    number(file, "address", finding->address, ", ");
    number(file, "size", finding->size, ", ");
    number(file, "count", atomic_load(&finding->count), ", ");
    kind(file, finding->kind);
    fputs("}", file);
}

void write_outcome(FILE *file, const struct channel *channel, const struct ending *ending) {
    char model[sizeof channel->model + 1] = {0};
    for (size_t i = 0; i < sizeof channel->model; i++)
        model[i] = channel->model[i];
    fputs("{", file);
    text(file, "model", model, ", ");
    text(file, "trouble", ending->trouble, ", ");
    number(file, "reason", (uint64_t)ending->reason, ", ");
    number(file, "code", (uint64_t)ending->code, ", ");
    number(file, "signal", (uint64_t)ending->signal, ", ");
    number(file, "programs", atomic_load(&channel->attached), ", ");
    number(file, "threads", atomic_load(&channel->threads), ", ");
    number(file, "operations", atomic_load(&channel->checked), ", ");
    number(file, "checking_ns", atomic_load(&channel->checking_ns), ", ");
    number(file, "lost", atomic_load(&channel->lost_findings), ", ");
    fputs("\"findings\": [", file);
    uint32_t count = atomic_load(&channel->findings);
    const char *between = "";
    for (uint32_t i = 0; i < count && i < CHANNEL_FINDINGS; i++) {
        const struct channel_finding *finding = &channel->finding[i];
        if (!atomic_load(&finding->ready) || finding->kind >= KIND_COUNT)
            continue;
        fputs(between, file);
        write_finding(file, channel, finding);
        between = ",\n";
    }
    fputs("]}\n", file);
}

void write_kinds(FILE *file) {
    fputs("[", file);
    for (uint32_t i = 0; i < KIND_COUNT; i++) {
        fputs(i ? ",\n{" : "{", file);
        kind(file, i);
        fputs("}", file);
    }
    fputs("]\n", file);
}

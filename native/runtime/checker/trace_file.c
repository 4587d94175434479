/* Writing saved traces, and checking what was saved. */
#define _GNU_SOURCE
#include "trace_file.h"

#include "../engine/findings.h"
#include "drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = "PCUTTRC1";
#define SITES_CHUNK UINT32_MAX

struct chunk {
    uint32_t ring, owner, count, unused;
};
struct saved_site {
    uint32_t file, function, line, unused;
    uint64_t offset;
};
struct saved_record {
    uint64_t word, address;
};

static void put(struct trace_file *trace, const void *bytes, size_t size) {
    if (!trace->failed && size && fwrite(bytes, size, 1, trace->file) != 1) {
        trace->failed = true;
        trace->reason = errno;
    }
}

bool trace_create(struct trace_file *trace, const char *path) {
    *trace = (struct trace_file){.file = fopen(path, "wxe")};
    if (!trace->file)
        return false;
    pthread_mutex_init(&trace->lock, NULL);
    put(trace, MAGIC, sizeof MAGIC);
    return true;
}

void trace_add(struct trace_file *trace, unsigned ring, uint32_t owner, const struct record *records,
               uint64_t from, uint64_t count, uint32_t buffer) {
    pthread_mutex_lock(&trace->lock);
    put(trace, &(struct chunk){ring, owner, (uint32_t)count, 0}, sizeof(struct chunk));
    for (uint64_t i = from; i < from + count; i++) {
        const struct record *record = &records[i & (buffer - 1)];
        uint64_t word = atomic_load_explicit(&record->word, memory_order_relaxed);
        struct saved_record saved = {word & ~((uint64_t)1 << RECORD_LAP_SHIFT), record->address};
        put(trace, &saved, sizeof saved);
    }
    pthread_mutex_unlock(&trace->lock);
}

bool trace_finish(struct trace_file *trace, struct channel *channel) {
    uint32_t sites = atomic_load(&channel->sites), strings = atomic_load(&channel->strings);
    sites = sites < CHANNEL_SITES ? sites : CHANNEL_SITES;
    strings = strings < CHANNEL_STRINGS ? strings : CHANNEL_STRINGS;
    put(trace, &(struct chunk){SITES_CHUNK, sites, strings, 0}, sizeof(struct chunk));
    for (uint32_t i = 0; i < sites; i++) {
        const struct channel_site *site = &channel->site[i];
        struct saved_site saved = {site->file, site->function, site->line, 0, site->offset};
        put(trace, &saved, sizeof saved);
    }
    put(trace, channel->string, strings);
    if (fclose(trace->file) != 0 && !trace->failed) {
        trace->failed = true;
        trace->reason = errno;
    }
    pthread_mutex_destroy(&trace->lock);
    errno = trace->reason;
    return !trace->failed;
}

struct reading {
    FILE *file;
    struct channel *channel;
    struct findings *findings;
    struct {
        struct engine *engine;
        uint32_t owner;
    } seat[CHANNEL_RINGS];
};

static bool get(struct reading *reading, void *bytes, size_t size) {
    return size == 0 || fread(bytes, size, 1, reading->file) == 1;
}

static const char *check_chunk(struct reading *reading, const struct chunk *chunk) {
    if (chunk->ring >= CHANNEL_RINGS)
        return "a chunk has no ring";
    struct engine **engine = &reading->seat[chunk->ring].engine;
    if (*engine && reading->seat[chunk->ring].owner != chunk->owner) {
        engine_close(*engine);
        *engine = NULL;
    }
    if (!*engine) {
        *engine = open_engine(reading->channel, reading->findings);
        reading->seat[chunk->ring].owner = chunk->owner;
        atomic_fetch_add(&reading->channel->threads, 1);
    }
    if (!*engine)
        return "out of memory";
    for (uint32_t i = 0; i < chunk->count; i++) {
        struct saved_record record;
        if (!get(reading, &record, sizeof record))
            return "it is truncated in a record";
        engine_take(*engine, record.word & RECORD_OPERATION,
                    (uint32_t)(record.word >> RECORD_SITE_SHIFT) & RECORD_SITE, record.address,
                    record.word >> RECORD_SIZE_SHIFT);
    }
    atomic_fetch_add(&reading->channel->checked, chunk->count);
    return NULL;
}

static const char *read_sites(struct reading *reading, const struct chunk *chunk) {
    uint32_t sites = chunk->owner, strings = chunk->count;
    if (sites > CHANNEL_SITES || strings > CHANNEL_STRINGS)
        return "it has too many places";
    for (uint32_t i = 0; i < sites; i++) {
        struct saved_site saved;
        if (!get(reading, &saved, sizeof saved))
            return "it is truncated in a place";
        struct channel_site *site = &reading->channel->site[i];
        site->file = saved.file;
        site->function = saved.function;
        site->line = saved.line;
        site->offset = saved.offset;
        atomic_store(&site->ready, i != SITE_UNKNOWN);
    }
    if (!get(reading, reading->channel->string, strings))
        return "it is truncated in a name";
    return getc(reading->file) == EOF ? NULL : "it has data after its end";
}

static const char *check_all(struct reading *reading) {
    char magic[sizeof MAGIC];
    struct chunk chunk;
    if (!get(reading, magic, sizeof magic) || memcmp(magic, MAGIC, sizeof magic) != 0)
        return "it is not a saved trace of powercut check";
    while (get(reading, &chunk, sizeof chunk)) {
        if (chunk.ring == SITES_CHUNK)
            return read_sites(reading, &chunk);
        const char *wrong = check_chunk(reading, &chunk);
        if (wrong)
            return wrong;
    }
    return "it is truncated";
}

const char *trace_check(const char *path, struct channel *channel) {
    struct reading *reading = calloc(1, sizeof *reading);
    if (!reading || !(reading->findings = findings_open(channel)))
        return "out of memory";
    reading->channel = channel;
    reading->file = fopen(path, "re");
    const char *wrong = reading->file ? check_all(reading) : strerror(errno);
    for (unsigned i = 0; i < CHANNEL_RINGS; i++)
        if (reading->seat[i].engine)
            engine_close(reading->seat[i].engine);
    if (reading->file)
        fclose(reading->file);
    findings_settle(reading->findings);
    findings_close(reading->findings);
    free(reading);
    return wrong;
}

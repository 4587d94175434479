/* Checking a store after a crash: recover it, and compare it with what the workload had made of it.
 *
 * The store must hold what the first N changes made, with N its own last sequence number: at least what was
 * acknowledged, and no batch in part. Then it must go on: a change made after recovery must outlive the next
 * recovery, before and after it is flushed. */
#define _GNU_SOURCE
#include "verify.h"

#include "env.h"
#include "workload.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED_KEYS = 100 }; /* about so many keys are also asked for one by one */

static const char probe_key[] = "probe"; /* sorts behind all keys of the workload */

/* What was promised. */
struct promise {
    struct workload workload;
    bool started;     /* the workload is known */
    uint64_t durable; /* the last sequence number that was acknowledged */
};

/* What the store must hold: for each key the change that wrote it last, 0 if it must not be there. */
struct expected {
    const struct workload *workload;
    uint64_t *writers;
    uint64_t *deleters; /* the change that deleted it last, for messages */
    uint64_t last;      /* after so many changes */
    const char *probe;  /* value of the probe, NULL if it must not be there */
};

static struct promise read_promise(const char *path) {
    struct promise promise = {0};
    char line[256];
    FILE *file = fopen(path, "r");
    must(file != NULL, "%s, which should hold the acknowledgements, cannot be read", path);
    while (fgets(line, sizeof line, file) != NULL &&
           strchr(line, '\n') != NULL) { /* a part of a line says nothing */
        if (sscanf(line, "durable %" SCNu64, &promise.durable) == 1)
            continue;
        must(workload_scan(line, &promise.workload), "an acknowledgement is not understood: %s", line);
        promise.started = true;
    }
    fclose(file);
    return promise;
}

/* What the first `last` changes make; ends the process if they end inside a batch. */
static struct expected expect(const struct workload *workload, uint64_t last) {
    struct expected expected = {.workload = workload, .last = last};
    expected.writers = calloc(workload->keys, sizeof *expected.writers);
    expected.deleters = calloc(workload->keys, sizeof *expected.deleters);
    must(expected.writers != NULL && expected.deleters != NULL, "out of memory");
    struct plan plan;
    struct step step = {0};
    plan_start(&plan, workload);
    while (plan.next <= last) {
        must(plan_next(&plan, &step), "the store holds change %" PRIu64 ", the workload has %" PRIu64, last,
             workload->changes);
        must(plan.next - 1 <= last,
             "the store ends at change %" PRIu64 ", inside the batch %" PRIu64 " to %" PRIu64, last,
             step.first, plan.next - 1);
        for (uint64_t i = 0; i < step.count; i++) {
            uint64_t key = step.changes[i].key;
            expected.writers[key] = step.changes[i].is_put ? step.first + i : 0;
            if (!step.changes[i].is_put)
                expected.deleters[key] = step.first + i;
        }
    }
    free(step.changes);
    return expected;
}

static void expected_free(struct expected *expected) {
    free(expected->writers);
    free(expected->deleters);
}

static void compare_value(const struct expected *expected, uint64_t key, struct slice value,
                          struct bytes *scratch) {
    uint64_t writer = expected->writers[key];
    planned_value(scratch, expected->workload, writer);
    if (slice_compare(value, bytes_slice(scratch)) == 0)
        return;
    int length = value.length < 40 ? (int)value.length : 40;
    die("key %" PRIu64 " should hold the value of change %" PRIu64 " (the store ends at %" PRIu64
        "), but holds '%.*s'",
        key, writer, expected->last, length, (const char *)value.data);
}

/* The key of the workload that an entry is about; ends the process if the workload has none of that name. */
static uint64_t find_key(const struct expected *expected, struct slice name) {
    char text[NAME_SIZE] = "";
    uint64_t key = 0;
    struct bytes planned = {0};
    memcpy(text, name.data, name.length < sizeof text ? name.length : sizeof text - 1);
    must(sscanf(text, "key%" SCNu64, &key) == 1 && key < expected->workload->keys,
         "nobody wrote the key '%s'", text);
    planned_key(&planned, key);
    must(slice_compare(bytes_slice(&planned), name) == 0, "nobody wrote the key '%s'", text);
    bytes_free(&planned);
    return key;
}

/* The keys from one to before another must not be there. */
static void expect_absent(const struct expected *expected, uint64_t from, uint64_t to) {
    for (uint64_t key = from; key < to; key++)
        must(expected->writers[key] == 0,
             "key %" PRIu64 " is gone: change %" PRIu64 " wrote it, and the store ends at %" PRIu64, key,
             expected->writers[key], expected->last);
}

/* Reads the store from front to back: what is there must be expected, what is expected must be there. */
static void compare_scan(struct store *store, const struct expected *expected) {
    struct merge merge;
    struct entry entry;
    struct bytes scratch = {0};
    uint64_t next = 0;
    store_scan(store, &merge);
    while (merge_next(&merge, &entry)) {
        if (entry.kind == CHANGE_DELETE)
            continue;
        if (expected->probe != NULL && slice_compare(entry.key, slice_of(probe_key)) == 0)
            continue;
        uint64_t key = find_key(expected, entry.key);
        expect_absent(expected, next, key);
        next = key + 1;
        must(expected->writers[key] != 0,
             "key %" PRIu64 " is there, but change %" PRIu64 " deleted it (0: nobody wrote it)", key,
             expected->deleters[key]);
        compare_value(expected, key, entry.value, &scratch);
    }
    expect_absent(expected, next, expected->workload->keys);
    merge_free(&merge);
    bytes_free(&scratch);
}

/* Asks for some keys one by one: the answers must be those of the scan. */
static void compare_gets(struct store *store, const struct expected *expected) {
    struct bytes name = {0}, value = {0}, scratch = {0};
    uint64_t step = expected->workload->keys / ASKED_KEYS + 1;
    for (uint64_t key = 0; key < expected->workload->keys; key += step) {
        planned_key(&name, key);
        bool found = store_get(store, bytes_slice(&name), &value);
        must(found == (expected->writers[key] != 0),
             "key %" PRIu64 " is found in a scan, or by asking, not both", key);
        if (found)
            compare_value(expected, key, bytes_slice(&value), &scratch);
    }
    if (expected->probe != NULL)
        must(store_get(store, slice_of(probe_key), &value) &&
                 slice_compare(bytes_slice(&value), slice_of(expected->probe)) == 0,
             "a change that was made and synced after the recovery is gone after the next one");
    bytes_free(&name);
    bytes_free(&value);
    bytes_free(&scratch);
}

static void compare(struct store *store, const struct expected *expected) {
    compare_scan(store, expected);
    compare_gets(store, expected);
}

/* Writes the probe durably. */
static void write_probe(struct store *store, struct expected *expected, const char *value) {
    struct batch batch = {0};
    batch_put(&batch, slice_of(probe_key), slice_of(value));
    store_write(store, &batch);
    store_sync(store);
    batch_free(&batch);
    expected->probe = value;
}

void verify(const char *path, const char *acknowledged, const struct store_options *options) {
    struct store store;
    struct promise promise = read_promise(acknowledged);
    store_open(&store, path, options);
    uint64_t last = store.last;
    if (!promise.started) { /* what an earlier run has left; that it can be opened is all that can be asked */
        store_abandon(&store);
        printf("store: all is well: the workload has not started\n");
        return;
    }
    must(last >= promise.durable, "change %" PRIu64 " was acknowledged, but the store ends at %" PRIu64,
         promise.durable, last);
    struct expected expected = expect(&promise.workload, last);
    compare(&store, &expected);

    write_probe(&store, &expected, "one");
    store_abandon(&store);
    store_open(&store, path, options);
    compare(&store, &expected);

    write_probe(&store, &expected, "two");
    store_close(&store);
    store_open(&store, path, options);
    compare(&store, &expected);
    store_abandon(&store);
    expected_free(&expected);
    printf("store: all is well: %" PRIu64 " changes, %" PRIu64 " of them acknowledged\n", last,
           promise.durable);
}

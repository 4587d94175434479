/* The program `store`: run a workload, check the store, print it. */
#define _GNU_SOURCE
#include "env.h"
#include "fault.h"
#include "store.h"
#include "verify.h"
#include "workload.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: store DIR run SEED CHANGES [options]   make a deterministic workload, acknowledge what is "
    "durable\n"
    "       store DIR verify                       recover, and compare with what $POWERCUT_ACKED promises\n"
    "       store DIR dump                         print all keys and values\n"
    "       store bugs | store syncs               print the names for --bug and --skip-sync\n"
    "workload: --keys N --value BYTES --sync-every BATCHES --jumbo-every CHANGES --jumbo-size CHANGES\n"
    "          --stop-after CHANGES (end there as if killed) --count-syncs (print how often each ran)\n"
    "store:    --memtable BYTES --log BYTES --table BYTES --block BYTES --manifest BYTES --level0 TABLES\n"
    "          --bug NAME (or STORE_BUG) --skip-sync NAMES (or STORE_SKIP_SYNC)\n";

struct settings {
    struct workload workload;
    struct store_options options;
    uint64_t stop_after;
    bool count_syncs;
};

static uint64_t parse_number(const char *text) {
    char *end;
    errno = 0;
    uint64_t number = strtoull(text, &end, 10);
    must(errno == 0 && *text != '\0' && *text != '-' && *end == '\0', "'%s' is not a number", text);
    return number;
}

/* Says a line on standard output, in one write, so that a power cut comes before it or after it. */
static void say(const char *line) {
    write_all(STDOUT_FILENO, slice_of(line), "standard output");
}

static void acknowledge(uint64_t sequence) {
    char line[64];
    snprintf(line, sizeof line, "durable %" PRIu64 "\n", sequence);
    say(line);
}

static void make_batch(struct batch *batch, const struct step *step, const struct workload *workload) {
    struct bytes key = {0}, value = {0};
    batch_clear(batch);
    for (uint64_t i = 0; i < step->count; i++) {
        planned_key(&key, step->changes[i].key);
        planned_value(&value, workload, step->first + i);
        if (step->changes[i].is_put)
            batch_put(batch, bytes_slice(&key), bytes_slice(&value));
        else
            batch_delete(batch, bytes_slice(&key));
    }
    bytes_free(&key);
    bytes_free(&value);
}

static void make_durable(struct store *store) {
    if (has_bug(BUG_ACK_BEFORE_SYNC)) {
        acknowledge(store->last);
        store_sync(store);
    } else {
        acknowledge(store_sync(store));
    }
}

static void print_counts(void) {
    for (int i = 0; sync_name(i) != NULL; i++)
        fprintf(stderr, "%lu %s\n", sync_count(i), sync_name(i));
}

/* Makes the workload's changes, from where an earlier run has left off. */
static void run(const char *path, const struct settings *settings) {
    char line[256];
    workload_print(line, sizeof line, &settings->workload);
    say(line);

    struct store store;
    struct plan plan;
    struct step step = {0};
    struct batch batch = {0};
    store_open(&store, path, &settings->options);
    plan_start(&plan, &settings->workload);
    while (plan_next(&plan, &step)) {
        if (step.first <= store.last)
            continue;
        make_batch(&batch, &step, &settings->workload);
        store_write(&store, &batch);
        if (settings->stop_after > 0 && store.last >= settings->stop_after)
            _exit(0);
        if (step.sync)
            make_durable(&store);
    }
    free(step.changes);
    batch_free(&batch);
    store_close(&store);
    if (settings->count_syncs)
        print_counts();
}

static void dump(const char *path, const struct store_options *options) {
    struct store store;
    struct merge merge;
    struct entry entry;
    store_open(&store, path, options);
    printf("last %" PRIu64 ", tables:", store.last);
    for (size_t i = 0; i < store.version.count; i++)
        printf(" %" PRIu64 "/%" PRIu32, store.version.tables[i].number, store.version.tables[i].level);
    printf("\n");
    store_scan(&store, &merge);
    while (merge_next(&merge, &entry))
        if (entry.kind == CHANGE_PUT)
            printf("%.*s = %.*s\n", (int)entry.key.length, (const char *)entry.key.data,
                   (int)entry.value.length, (const char *)entry.value.data);
    merge_free(&merge);
    store_close(&store);
}

/* Reads the options; what is left in `argv` are the words. */
static int parse_options(int argc, char **argv, struct settings *settings) {
    struct workload *workload = &settings->workload;
    struct store_options *options = &settings->options;
    const struct {
        const char *name;
        uint64_t *value;
    } numbers[] = {
        {"keys", &workload->keys},
        {"value", &workload->value},
        {"sync-every", &workload->sync_every},
        {"jumbo-every", &workload->jumbo_every},
        {"jumbo-size", &workload->jumbo_size},
        {"stop-after", &settings->stop_after},
        {"memtable", &options->memtable_limit},
        {"log", &options->log_limit},
        {"table", &options->table_limit},
        {"block", &options->block_limit},
        {"manifest", &options->manifest_limit},
        {"level0", &options->level0_limit},
    };
    enum { NUMBERS = sizeof numbers / sizeof *numbers, OTHERS = 3 };
    struct option known[OTHERS + NUMBERS + 1] = {
        {"bug", required_argument, NULL, 'b'},
        {"skip-sync", required_argument, NULL, 's'},
        {"count-syncs", no_argument, NULL, 'c'},
    };
    for (int i = 0; i < NUMBERS; i++)
        known[OTHERS + i] = (struct option){numbers[i].name, required_argument, NULL, 0};
    for (int option, index; (option = getopt_long(argc, argv, "", known, &index)) != -1;) {
        if (option == 'b')
            choose_bug(optarg);
        else if (option == 's')
            skip_syncs(optarg);
        else if (option == 'c')
            settings->count_syncs = true;
        else if (option == 0)
            *numbers[index - OTHERS].value = parse_number(optarg);
        else
            exit(2);
    }
    must(workload->keys > 0 && workload->sync_every > 0, "there must be keys, and syncs");
    return optind;
}

int main(int argc, char **argv) {
    struct settings settings = {.workload = default_workload, .options = default_options};
    if (getenv("STORE_BUG") != NULL)
        choose_bug(getenv("STORE_BUG"));
    if (getenv("STORE_SKIP_SYNC") != NULL)
        skip_syncs(getenv("STORE_SKIP_SYNC"));
    int first = parse_options(argc, argv, &settings);
    int words = argc - first;
    argv += first;

    if (words == 1 && strcmp(argv[0], "bugs") == 0) {
        for (int i = 0; bug_name(i) != NULL; i++)
            puts(bug_name(i));
    } else if (words == 1 && strcmp(argv[0], "syncs") == 0) {
        for (int i = 0; sync_name(i) != NULL; i++)
            puts(sync_name(i));
    } else if (words == 4 && strcmp(argv[1], "run") == 0) {
        settings.workload.seed = parse_number(argv[2]);
        settings.workload.changes = parse_number(argv[3]);
        run(argv[0], &settings);
    } else if (words == 2 && strcmp(argv[1], "verify") == 0) {
        const char *acknowledged = getenv("POWERCUT_ACKED");
        must(acknowledged != NULL, "POWERCUT_ACKED does not name the file with the acknowledgements");
        verify(argv[0], acknowledged, &settings.options);
    } else if (words == 2 && strcmp(argv[1], "dump") == 0) {
        dump(argv[0], &settings.options);
    } else {
        fputs(usage, stderr);
        return 2;
    }
    return 0;
}

/* Compaction: all tables of level 0, and those of level 1 that overlap with them, become new tables of
 * level 1. */
#define _GNU_SOURCE
#include "env.h"
#include "fault.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct compaction {
    struct store *store;
    uint64_t *inputs; /* numbers of tables */
    size_t input_count;
    struct table_info *outputs;
    size_t output_count;
    struct table_builder builder; /* of the output that is being written */
    bool building;
};

/* The keys from the smallest to the largest of level 0. */
static void level0_range(const struct version *version, struct slice *smallest, struct slice *largest) {
    bool first = true;
    for (size_t i = 0; i < version->count; i++) {
        const struct table_info *info = &version->tables[i];
        if (info->level != 0)
            continue;
        if (first || slice_compare(bytes_slice(&info->smallest), *smallest) < 0)
            *smallest = bytes_slice(&info->smallest);
        if (first || slice_compare(bytes_slice(&info->largest), *largest) > 0)
            *largest = bytes_slice(&info->largest);
        first = false;
    }
}

static bool overlaps(const struct table_info *info, struct slice smallest, struct slice largest) {
    return slice_compare(bytes_slice(&info->smallest), largest) <= 0 &&
           slice_compare(bytes_slice(&info->largest), smallest) >= 0;
}

static void choose_inputs(struct compaction *work, struct merge *merge) {
    const struct version *version = &work->store->version;
    struct slice smallest = {0}, largest = {0};
    level0_range(version, &smallest, &largest);
    work->inputs = calloc(version->count, sizeof *work->inputs);
    must(work->inputs != NULL, "out of memory");
    for (size_t i = 0; i < version->count; i++) {
        const struct table_info *info = &version->tables[i];
        if (info->level == 0 || overlaps(info, smallest, largest)) {
            work->inputs[work->input_count++] = info->number;
            merge_add_table(merge, info->table);
        }
    }
}

/* Remembers an output that is written and synced. */
static void keep_output(struct compaction *work) {
    work->outputs = realloc(work->outputs, (work->output_count + 1) * sizeof *work->outputs);
    must(work->outputs != NULL, "out of memory");
    struct table_info *info = &work->outputs[work->output_count++];
    *info = (struct table_info){.number = work->builder.number, .level = 1};
    bytes_set(&info->smallest, bytes_slice(&work->builder.smallest));
    bytes_set(&info->largest, bytes_slice(&work->builder.largest));
    table_close_builder(&work->builder);
    work->building = false;
}

static void finish_full_output(struct compaction *work) {
    table_finish(&work->builder);
    must(SYNC_DATA(work->builder.fd, "compact-full-output"), "sync of table %" PRIu64 ": %s",
         work->builder.number, strerror(errno));
    keep_output(work);
}

static void finish_last_output(struct compaction *work) {
    table_finish(&work->builder);
    must(SYNC_DATA(work->builder.fd, "compact-last-output"), "sync of table %" PRIu64 ": %s",
         work->builder.number, strerror(errno));
    keep_output(work);
}

/* Writes the merged entries into as many tables as it takes. */
static void write_outputs(struct compaction *work, struct merge *merge) {
    struct store *store = work->store;
    struct entry entry;
    while (merge_next(merge, &entry)) {
        if (entry.kind == CHANGE_DELETE)
            continue; /* all older versions are among the inputs, too: nothing is left to hide */
        if (work->building && work->builder.size >= store->options.table_limit)
            finish_full_output(work);
        if (!work->building)
            table_create(&work->builder, store->dir, store->version.next_file++, store->options.block_limit);
        work->building = true;
        table_add(&work->builder, &entry);
    }
    if (work->building)
        finish_last_output(work);
    must(SYNC_FOLDER(store->dir, "compact-names"), "sync of the folder: %s", strerror(errno));
}

static void delete_inputs(const struct compaction *work) {
    char name[NAME_SIZE];
    for (size_t i = 0; i < work->input_count; i++)
        delete_file(work->store->dir, name_file(name, FILE_TABLE, work->inputs[i]));
}

/* Lets the outputs take the place of the inputs, which are not needed any more once that is durable. */
static void replace_inputs(struct compaction *work) {
    struct version *version = &work->store->version;
    struct edit edit = {
        .added = work->outputs,
        .added_count = work->output_count,
        .removed = work->inputs,
        .removed_count = work->input_count,
        .log_number = version->log_number,
        .last_sequence = version->last_sequence,
    };
    manifest_write(&work->store->manifest, version, &edit);
    if (has_bug(BUG_INPUTS_DELETED_EARLY))
        delete_inputs(work);
    manifest_commit(&work->store->manifest, version, &edit);
    if (!has_bug(BUG_INPUTS_DELETED_EARLY))
        delete_inputs(work);
}

void compact(struct store *store) {
    struct compaction work = {.store = store};
    struct merge merge;
    merge_start(&merge, NULL, store->version.count);
    choose_inputs(&work, &merge);
    write_outputs(&work, &merge);
    merge_free(&merge);
    replace_inputs(&work);
    open_tables(store);

    for (size_t i = 0; i < work.output_count; i++) {
        bytes_free(&work.outputs[i].smallest);
        bytes_free(&work.outputs[i].largest);
    }
    free(work.outputs);
    free(work.inputs);
}

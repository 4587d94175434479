/* The manifest: a log of edits, and CURRENT, which names the manifest that counts. */
#define _GNU_SOURCE
#include "manifest.h"

#include "env.h"
#include "fault.h"
#include "manifest_edit.h"
#include "record.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void write_edit(struct manifest *manifest, const struct edit *edit, uint64_t next_file) {
    char name[NAME_SIZE];
    struct bytes content = {0}, record = {0};
    edit_encode(&content, edit, next_file);
    record_add(&record, manifest->number, bytes_slice(&content));
    write_all(manifest->fd, bytes_slice(&record), name_file(name, FILE_MANIFEST, manifest->number));
    manifest->size += record.length;
    bytes_free(&record);
    bytes_free(&content);
}

/* Starts a manifest with all that a version holds, durable under its name. */
static void start_manifest(struct manifest *manifest, struct version *version) {
    char name[NAME_SIZE];
    int old = manifest->fd;
    manifest->number = version->next_file++;
    manifest->size = 0;
    manifest->fd = create_file(manifest->dir, name_file(name, FILE_MANIFEST, manifest->number));
    struct edit everything = {
        .added = version->tables,
        .added_count = version->count,
        .log_number = version->log_number,
        .last_sequence = version->last_sequence,
    };
    write_edit(manifest, &everything, version->next_file);
    int synced = has_bug(BUG_ROLLOVER_SYNCS_OLD) && old >= 0 ? old : manifest->fd;
    must(SYNC_DATA(synced, "manifest-new"), "sync of %s: %s", name, strerror(errno));
    must(SYNC_FOLDER(manifest->dir, "manifest-new-name"), "sync of the folder: %s", strerror(errno));
    if (old >= 0)
        close(old);
}

/* BUG_CURRENT_IN_PLACE: the old content is gone before the new one is there. */
static void overwrite_current(int dir, const char *name) {
    int fd = open_file(dir, "CURRENT", O_WRONLY | O_CREAT | O_TRUNC);
    write_all(fd, slice_of(name), "CURRENT");
    must(SYNC_FILE(fd, "current-content"), "sync of CURRENT: %s", strerror(errno));
    close(fd);
}

/* Lets CURRENT name a manifest: first durable under another name, then renamed. */
static void set_current(int dir, uint64_t number) {
    char name[NAME_SIZE];
    name_file(name, FILE_MANIFEST, number);
    if (has_bug(BUG_CURRENT_IN_PLACE)) {
        overwrite_current(dir, name);
    } else {
        int fd = open_file(dir, "CURRENT.tmp", O_WRONLY | O_CREAT | O_TRUNC);
        write_all(fd, slice_of(name), "CURRENT.tmp");
        must(SYNC_DATA(fd, "current-content"), "sync of CURRENT.tmp: %s", strerror(errno));
        close(fd);
        rename_file(dir, "CURRENT.tmp", "CURRENT");
    }
    must(SYNC_FOLDER(dir, "current-name"), "sync of the folder: %s", strerror(errno));
}

void manifest_create(struct manifest *manifest, int dir, uint64_t limit, struct version *version) {
    *manifest = (struct manifest){.dir = dir, .fd = -1, .limit = limit};
    start_manifest(manifest, version);
    set_current(dir, manifest->number);
}

static uint64_t read_current(int dir) {
    struct bytes content = {0};
    char text[NAME_SIZE] = "", name[NAME_SIZE];
    uint64_t number;
    read_file(dir, "CURRENT", &content);
    must(content.length < sizeof text, "CURRENT is not the name of a manifest");
    if (content.length > 0)
        memcpy(text, content.data, content.length);
    must(sscanf(text, "MANIFEST-%" SCNu64, &number) == 1 &&
             strcmp(name_file(name, FILE_MANIFEST, number), text) == 0,
         "CURRENT is not the name of a manifest");
    bytes_free(&content);
    return number;
}

void manifest_recover(struct manifest *manifest, int dir, uint64_t limit, struct version *version) {
    char name[NAME_SIZE];
    struct bytes content = {0};
    *manifest = (struct manifest){.dir = dir, .number = read_current(dir), .limit = limit};
    manifest->fd = open_file(dir, name_file(name, FILE_MANIFEST, manifest->number), O_RDWR);
    uint64_t size = file_size(manifest->fd);
    read_at(manifest->fd, 0, size, &content, name);
    struct decoder decoder = decoder_of(bytes_slice(&content));
    struct slice record;
    while (record_next(&decoder, manifest->number, &record) == RECORD_WHOLE) {
        must(version_apply_encoded(version, record), "%s: the edit at %" PRIu64 " is damaged", name,
             manifest->size);
        manifest->size = (uint64_t)(decoder.at - content.data);
    }
    bytes_free(&content);
    must(manifest->size > 0, "%s, which CURRENT names, is empty or damaged", name);
    if (has_bug(BUG_MANIFEST_TAIL_KEPT))
        manifest->size = size;
    if (size > manifest->size) { /* an edit that was being written; nothing relied on it */
        must(ftruncate(manifest->fd, (off_t)manifest->size) == 0, "truncate %s: %s", name, strerror(errno));
        must(SYNC_DATA(manifest->fd, "recover-manifest"), "sync of %s: %s", name, strerror(errno));
    }
    must(lseek(manifest->fd, (off_t)manifest->size, SEEK_SET) >= 0, "seek in %s: %s", name, strerror(errno));
}

/* Goes on in a new manifest; the old one is deleted once nothing names it any more. */
static void roll_over(struct manifest *manifest, struct version *version) {
    char old[NAME_SIZE];
    name_file(old, FILE_MANIFEST, manifest->number);
    start_manifest(manifest, version);
    if (has_bug(BUG_MANIFEST_DELETED_EARLY))
        delete_file(manifest->dir, old);
    set_current(manifest->dir, manifest->number);
    if (!has_bug(BUG_MANIFEST_DELETED_EARLY))
        delete_file(manifest->dir, old);
}

void manifest_write(struct manifest *manifest, const struct version *version, const struct edit *edit) {
    struct edit rest = *edit;
    if (has_bug(BUG_SPLIT_EDIT) && edit->removed_count > 0) { /* removals and additions are not one step */
        rest.added_count = 0;
        write_edit(manifest, &rest, version->next_file);
        rest = *edit;
        rest.removed_count = 0;
    }
    write_edit(manifest, &rest, version->next_file);
}

void manifest_commit(struct manifest *manifest, struct version *version, const struct edit *edit) {
    must(SYNC_DATA(manifest->fd, "manifest-edit"), "sync of the manifest: %s", strerror(errno));
    version_apply(version, edit);
    if (manifest->size > manifest->limit)
        roll_over(manifest, version);
}

void manifest_close(struct manifest *manifest) {
    close(manifest->fd);
}

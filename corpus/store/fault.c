/* Mistakes on purpose: which one is chosen, and which syncs are left out. */
#include "fault.h"

#include "env.h"

#include <string.h>

/* Every sync of the store. */
static const char *const syncs[] = {
    "commit-log",              /* commit.c: what is acknowledged is in the log */
    "rotate-log",              /* commit.c: a log that has a successor is whole */
    "rotate-log-before-jumbo", /* commit.c: the same, before a batch that gets a log of its own */
    "rotate-log-after-jumbo",  /* commit.c: the same, for that log */
    "rotate-log-to-flush",     /* flush.c: the same, when the memtable is flushed */
    "log-name",                /* wal.c: a new log has its name */
    "flush-table",             /* flush.c: the manifest names whole tables only */
    "flush-table-name",        /* flush.c: that have their names */
    "compact-full-output",     /* compact.c: the same for compactions, a table that is followed by another */
    "compact-last-output",     /* compact.c: and the last one */
    "compact-names",           /* compact.c */
    "manifest-edit",           /* manifest.c: an edit is durable before anything is deleted */
    "manifest-new",            /* manifest.c: CURRENT names whole manifests only */
    "manifest-new-name",       /* manifest.c: that have their names */
    "current-content",         /* manifest.c: CURRENT is never empty */
    "current-name",            /* manifest.c: CURRENT names the new manifest before the old one is deleted */
    "recover-manifest",        /* manifest.c: a torn tail is gone before an edit follows */
    "recover-log",             /* recover.c: the same for the log, and what was replayed is durable */
    "close-log",               /* store.c: nothing is lost after an orderly end */
    "close-folder",            /* store.c: deleted files stay deleted after an orderly end */
};

static const struct {
    const char *name;
    const char *left_out; /* the sync that is left out, if that is all */
} bugs[BUG_COUNT] = {
    [BUG_NONE] = {"none", NULL},
    [BUG_TABLE_UNSYNCED] = {"table-unsynced", "flush-table"},
    [BUG_TABLE_NAME_UNSYNCED] = {"table-name-unsynced", "flush-table-name"},
    [BUG_OUTPUT_UNSYNCED] = {"output-unsynced", "compact-full-output"},
    [BUG_LOG_NAME_UNSYNCED] = {"log-name-unsynced", "log-name"},
    [BUG_ROTATION_UNSYNCED] = {"rotation-unsynced", "rotate-log"},
    [BUG_MANIFEST_UNSYNCED] = {"manifest-unsynced", "manifest-new"},
    [BUG_CURRENT_NAME_UNSYNCED] = {"current-name-unsynced", "current-name"},
    [BUG_EDIT_UNSYNCED] = {"edit-unsynced", "manifest-edit"},
    [BUG_DEEP_ROTATION] = {"deep-rotation", "rotate-log-before-jumbo"},
    [BUG_DEEP_JUMBO] = {"deep-jumbo", "rotate-log-after-jumbo"},
    [BUG_LARGE_GROUP_UNSYNCED] = {"large-group-unsynced", NULL},
    [BUG_ACK_BEFORE_SYNC] = {"ack-before-sync", NULL},
    [BUG_HEADER_UNSYNCED] = {"header-unsynced", NULL},
    [BUG_FOOTER_AFTER_SYNC] = {"footer-after-sync", NULL},
    [BUG_ROLLOVER_SYNCS_OLD] = {"rollover-syncs-old", NULL},
    [BUG_LOG_DELETED_EARLY] = {"log-deleted-early", NULL},
    [BUG_INPUTS_DELETED_EARLY] = {"inputs-deleted-early", NULL},
    [BUG_MANIFEST_DELETED_EARLY] = {"manifest-deleted-early", NULL},
    [BUG_CURRENT_IN_PLACE] = {"current-in-place", NULL},
    [BUG_SPLIT_EDIT] = {"split-edit", NULL},
    [BUG_SPLIT_BATCH] = {"split-batch", NULL},
    [BUG_TORN_TAIL_ACCEPTED] = {"torn-tail-accepted", NULL},
    [BUG_TORN_LENGTH_BELIEVED] = {"torn-length-believed", NULL},
    [BUG_TORN_TAIL_KEPT] = {"torn-tail-kept", NULL},
    [BUG_MANIFEST_TAIL_KEPT] = {"manifest-tail-kept", NULL},
    [BUG_NUMBER_REUSED] = {"number-reused", NULL},
};

enum { SYNC_COUNT = sizeof syncs / sizeof *syncs };

static enum bug chosen = BUG_NONE;
static bool left_out[SYNC_COUNT];
static unsigned long counts[SYNC_COUNT];

/* The number of a sync; SYNC_COUNT if there is none of that name. */
static int find_sync(const char *name, size_t length) {
    int index = 0;
    while (index < SYNC_COUNT && (strlen(syncs[index]) != length || strncmp(syncs[index], name, length) != 0))
        index++;
    return index;
}

bool has_bug(enum bug bug) {
    return chosen == bug;
}

bool sync_wanted(const char *site) {
    int index = find_sync(site, strlen(site));
    must(index < SYNC_COUNT, "the sync %s is not in the list", site);
    counts[index]++;
    return !left_out[index];
}

void choose_bug(const char *name) {
    int index = 0;
    while (index < BUG_COUNT && strcmp(bugs[index].name, name) != 0)
        index++;
    must(index < BUG_COUNT, "there is no bug '%s'; try: store bugs", name);
    chosen = (enum bug)index;
    if (bugs[index].left_out != NULL)
        skip_syncs(bugs[index].left_out);
}

void skip_syncs(const char *names) {
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        int index = find_sync(names, length);
        must(index < SYNC_COUNT, "there is no sync '%.*s'; try: store syncs", (int)length, names);
        left_out[index] = true;
        names += length + (names[length] == ',');
    }
}

const char *bug_name(int index) {
    return index + 1 < BUG_COUNT ? bugs[index + 1].name : NULL;
}

const char *sync_name(int index) {
    return index < SYNC_COUNT ? syncs[index] : NULL;
}

unsigned long sync_count(int index) {
    return counts[index];
}

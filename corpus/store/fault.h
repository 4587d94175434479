/* Mistakes on purpose. Every sync of the store goes through these macros, with its own name and in its own
 * line, and can be left out at run time; other mistakes are asked for by has_bug() where they are made.
 * Without STORE_BUG and STORE_SKIP_SYNC (or --bug and --skip-sync) the store is correct. */
#pragma once

#include <stdbool.h>
#include <unistd.h>

enum bug {
    BUG_NONE,
    /* Syncs left out; the name of the sync is in fault.c. */
    BUG_TABLE_UNSYNCED,
    BUG_TABLE_NAME_UNSYNCED,
    BUG_OUTPUT_UNSYNCED,
    BUG_LOG_NAME_UNSYNCED,
    BUG_ROTATION_UNSYNCED,
    BUG_MANIFEST_UNSYNCED,
    BUG_CURRENT_NAME_UNSYNCED,
    BUG_EDIT_UNSYNCED,
    BUG_DEEP_ROTATION,
    BUG_DEEP_JUMBO,
    /* Syncs at the wrong place or for the wrong file. */
    BUG_LARGE_GROUP_UNSYNCED,
    BUG_ACK_BEFORE_SYNC,
    BUG_HEADER_UNSYNCED,
    BUG_FOOTER_AFTER_SYNC,
    BUG_ROLLOVER_SYNCS_OLD,
    /* Steps in the wrong order. */
    BUG_LOG_DELETED_EARLY,
    BUG_INPUTS_DELETED_EARLY,
    BUG_MANIFEST_DELETED_EARLY,
    /* Steps that are not atomic. */
    BUG_CURRENT_IN_PLACE,
    BUG_SPLIT_EDIT,
    BUG_SPLIT_BATCH,
    /* Recovery that is wrong. */
    BUG_TORN_TAIL_ACCEPTED,
    BUG_TORN_LENGTH_BELIEVED,
    BUG_TORN_TAIL_KEPT,
    BUG_MANIFEST_TAIL_KEPT,
    BUG_NUMBER_REUSED,
    BUG_COUNT,
};

/* Each is true if the sync was done, or left out on purpose. */
#define SYNC_DATA(fd, site)    (!sync_wanted(site) || fdatasync(fd) == 0)
#define SYNC_FILE(fd, site)    (!sync_wanted(site) || fsync(fd) == 0)
#define SYNC_FOLDER(dir, site) (!sync_wanted(site) || fsync(dir) == 0)

bool has_bug(enum bug bug);
bool sync_wanted(const char *site);

/* Chooses the mistake by name, and syncs to leave out, with commas; ends the process if a name is unknown. */
void choose_bug(const char *name);
void skip_syncs(const char *names);

/* For the commands `store bugs` and `store syncs`: the names, or NULL at the end. */
const char *bug_name(int index);
const char *sync_name(int index);

/* How often the program came to a sync, left out or not. */
unsigned long sync_count(int index);

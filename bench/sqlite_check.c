/* A check of a database as a user would write it: open, which recovers, then ask whether it is whole. */
#include <sqlite3.h>
#include <string.h>

static int is_ok(void *unused, int count, char **values, char **names) {
    (void)unused, (void)names;
    return count != 1 || strcmp(values[0], "ok") != 0;
}

int main(void) {
    sqlite3 *database;
    return sqlite3_open("test.db", &database) != SQLITE_OK ||
           sqlite3_exec(database, "PRAGMA integrity_check", is_ok, NULL, NULL) != SQLITE_OK;
}

/* Records in a gdbm database that is not mapped: GDBM_NOMMAP. `rows sync COUNT` opens it with GDBM_SYNC,
   `rows call COUNT` calls gdbm_sync after each record; both say which are in. */
#include <gdbm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int by_flag = argc == 3 && !strcmp(argv[1], "sync");
    GDBM_FILE rows = gdbm_open("data/rows", 0, GDBM_WRCREAT | GDBM_NOMMAP | (by_flag ? GDBM_SYNC : 0), 0644, NULL);
    if (!rows)
        return fprintf(stderr, "not opened: %s\n", gdbm_strerror(gdbm_errno)), 1;
    for (int number = 1; number <= atoi(argv[2]); number++) {
        char key[20], value[400] = "";
        for (int times = 0; times < 20; times++)
            snprintf(value + strlen(value), sizeof value - strlen(value), "value %d ", number);
        datum name = {key, snprintf(key, sizeof key, "key-%d", number)}, text = {value, (int)strlen(value)};
        if (gdbm_store(rows, name, text, GDBM_REPLACE) || (!by_flag && gdbm_sync(rows)))
            return fprintf(stderr, "not stored: %s\n", gdbm_strerror(gdbm_errno)), 1;
        printf("stored %d\n", number);
        fflush(stdout);
    }
    return gdbm_close(rows);
}

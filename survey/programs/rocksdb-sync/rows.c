/* Rows in a RocksDB database. `rows put sync|default COUNT` puts COUNT rows and says which are in; `rows check` opens
   the database of $POWERCUT_DIR, which makes RocksDB recover it: it must be readable and hold what was said. */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4000 };

static void stop_at(const char *what, char *error) {
    if (error) {
        printf("%s: %s\n", what, error);
        exit(1);
    }
}

static rocksdb_t *open_rows(const char *folder, int create) {
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, create);
    char *error = NULL;
    rocksdb_t *rows = rocksdb_open(options, folder, &error);
    stop_at("not opened", error);
    return rows;
}

static int put(int sync, int count) {
    rocksdb_t *rows = open_rows("data/rows", 1);
    rocksdb_writeoptions_t *options = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(options, sync);
    for (int number = 1; number <= count; number++) {
        char key[20], value[SIZE], *error = NULL;
        snprintf(key, sizeof key, "key-%d", number);
        memset(value, 'a' + number, sizeof value);
        rocksdb_put(rows, options, key, strlen(key), value, sizeof value, &error);
        stop_at("not put", error);
        printf("put %d\n", number);
        fflush(stdout);
    }
    rocksdb_close(rows);
    return 0;
}

static int check(const char *folder, FILE *acked) {
    char path[4096], line[100], *error = NULL;
    snprintf(path, sizeof path, "%s/rows", folder);
    rocksdb_t *rows = open_rows(path, 0);
    rocksdb_readoptions_t *options = rocksdb_readoptions_create();
    while (acked && fgets(line, sizeof line, acked) && strchr(line, '\n')) {
        char key[20];
        size_t size = 0;
        int number = atoi(line + strlen("put "));
        snprintf(key, sizeof key, "key-%d", number);
        char *value = rocksdb_get(rows, options, key, strlen(key), &size, &error);
        stop_at("not readable", error);
        if (!value || size != SIZE || value[0] != 'a' + number || value[SIZE - 1] != 'a' + number)
            return printf("put and lost: %d\n", number), 1;
    }
    rocksdb_close(rows);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 4 && !strcmp(argv[1], "put"))
        return put(!strcmp(argv[2], "sync"), atoi(argv[3]));
    return check(getenv("POWERCUT_DIR"), fopen(getenv("POWERCUT_ACKED"), "r"));
}

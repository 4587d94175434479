#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int fixed;

static void sync_path(const char *path) {
    int fd = open(path, O_RDONLY);
    fsync(fd);
    close(fd);
}

static void config(void) {
    FILE *file = fopen("config.new", "w");
    fputs("theme = dark\n", file);
    fflush(file); // LOST config
    if (fixed)
        fsync(fileno(file));
    fclose(file);
    rename("config.new", "config"); // SURVIVED config
}

static void entry(void) {
    FILE *file = fopen("entry.new", "w");
    fputs("entry 1\n", file);
    fclose(file);
    sync_path("entry.new");
    rename("entry.new", "entry"); // LOST entry
    if (fixed)
        sync_path(".");
    puts("entry"); // ACKED entry
}

static void table(void) {
    const char *name = fixed ? "table.new" : "table";
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644); // SURVIVED table
    write(fd, "new new new\n", 12);                           // LOST table
    fsync(fd);
    close(fd);
    if (fixed)
        rename(name, "table");
}

static void journal(void) {
    int fd = open("journal", O_WRONLY | O_APPEND);
    dprintf(fd, "paid 10\n"); // LOST journal
    if (fixed)
        fsync(fd);
    dprintf(1, "paid\n"); // ACKED journal
    fsync(fd);
}

static void order(void) {
    int blob = open("blob", O_RDWR), index = open("index", O_RDWR);
    write(blob, "blob blob\n", 10); // LOST order
    if (fixed)
        fsync(blob);
    write(index, "blob at 0\n", 10); // SURVIVED order
    fsync(index);
    fsync(blob);
}

int main(int count, char **words) {
    static void (*const mistakes[])(void) = {config, entry, table, journal, order};
    fixed = count > 1 && strcmp(words[1], "fixed") == 0;
    for (int i = 0; i < 5; i++) {
        mistakes[i]();
        sync_path(".");
    }
    return 0;
}

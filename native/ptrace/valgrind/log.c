/* Before: Valgrind runs quietly, so that whatever it says is the reason of an end. After pc_grind_log_tell:
 * the user is told its first lines, without the process ids that Valgrind puts before each. */
#define _GNU_SOURCE
#include "valgrind/log.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TOLD = 900, LINES = 3 }; /* bytes and lines: the first ones say what it is about */

bool pc_grind_log_open(struct pc_grind_log *log) {
    log->file = memfd_create("powercut-valgrind", MFD_CLOEXEC);
    /* Emptied when told, while others write: each write goes to the end, wherever that is. */
    return log->file >= 0 && fcntl(log->file, F_SETFL, O_APPEND) == 0;
}

void pc_grind_log_close(struct pc_grind_log *log) {
    if (log->file >= 0)
        close(log->file);
}

/* "==123== text" without the mark. */
static char *without_mark(char *line) {
    char *end = strncmp(line, "==", 2) == 0 || strncmp(line, "**", 2) == 0 ? strchr(line, ' ') : NULL;
    return end != NULL ? end + 1 : line;
}

/* Joins the first lines that say something. */
static size_t join(char *text, char *out, size_t size) {
    size_t used = 0;
    unsigned lines = 0;
    char *rest = NULL, *line = strtok_r(text, "\n", &rest);
    for (; line != NULL && lines < LINES; line = strtok_r(NULL, "\n", &rest)) {
        char *said = without_mark(line);
        said += strspn(said, " ");
        size_t length = strlen(said);
        if (length == 0 || used + length + 2 > size)
            continue;
        if (used > 0)
            out[used++] = ' ';
        lines++;
        memcpy(out + used, said, length);
        used += length;
    }
    out[used] = '\0';
    return used;
}

void pc_grind_log_tell(struct pc_grind_log *log, struct pc_recorder *recorder) {
    char text[4 * TOLD], told[TOLD];
    ssize_t got = pread(log->file, text, sizeof(text) - 1, 0);
    if (got <= 0)
        return;
    (void)!ftruncate(log->file, 0);
    text[got] = '\0';
    if (join(text, told, sizeof(told)) > 0)
        pc_note(recorder, NULL, "Valgrind, which runs the program for the memory tracer, printed: %s", told);
}

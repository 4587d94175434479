/* append() is right: it writes. Who wants more must ask for it. */
#include "../several.h"

static int append(const char *name, const char *text) {
    int fd = open(name, O_WRONLY | O_APPEND);
    need(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name); // LOST a b
    return fd;
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    need(fsync(append("audit", "opened\n")) == 0, "fsync");
    say("opened");
    int orders = append("orders", "milk\n"); // LOST a
    need(!mended('a') || fsync(orders) == 0, "fsync");
    say("ordered"); // ACKED a
    int invoices = append("invoices", "3.50\n"); // LOST b
    need(!mended('b') || fsync(invoices) == 0, "fsync");
    int count = open("count", O_WRONLY);
    need(pwrite(count, "1", 1, 0) == 1, "count"); // SURVIVED b
    need(fsync(count) == 0, "fsync");
    return 0;
}

/* A page in the log counts before the data file; one that does not end with a newline was not committed. */
#include "../several.h"

int main(void) {
    char page[64], log[64];
    content("db", page, sizeof page);
    long length = content("wal", log, sizeof log);
    if (length == 12 && log[11] == '\n')
        memcpy(page, log, 12);
    if (said("committed") && memcmp(page, "colour=gold\n", 12) != 0)
        refuse("the committed page is lost");
    if (memcmp(page, "colour=gold\n", 12) != 0 && memcmp(page, "colour=blue\n", 12) != 0)
        refuse("the page is %.12s", page);
    return 0;
}

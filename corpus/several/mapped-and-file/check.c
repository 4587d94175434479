/* With the marker the page is filled; the log knows what was said. */
#include "../several.h"

int main(void) {
    static uint64_t nothing[512];
    uint64_t *page = pool_recover("page", sizeof nothing);
    if (access("marker", F_OK) == 0 && (page ? page : nothing)[7] != 7)
        refuse("the page is not filled");
    if (said("filled") && !holds("log", "filled\n"))
        refuse("the log line is gone");
    return 0;
}

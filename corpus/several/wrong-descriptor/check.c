/* What the log points to is there; so is the index when that was said. */
#include "../several.h"

int main(void) {
    if (holds("log", "+\n") && !holds("data", "data\n"))
        refuse("the log points to nothing");
    if (said("indexed") && !holds("index", "1\n"))
        refuse("the index is gone");
    return 0;
}

/* The log knows what was said; the state is old or new. */
#include "../several.h"

int main(void) {
    if (said("started") && !holds("log", "started\n"))
        refuse("the log line is gone");
    if (!holds("state", "old\n") && !holds("state", "new\n"))
        refuse("the state is damaged");
    return 0;
}

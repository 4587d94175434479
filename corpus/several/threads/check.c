/* The state is old or new; the log line is there when that was said. */
#include "../several.h"

int main(void) {
    if (!holds("state", "old\n") && !holds("state", "new\n"))
        refuse("the state is damaged");
    if (said("logged") && !holds("log", "hello\n"))
        refuse("the log line is gone");
    return 0;
}

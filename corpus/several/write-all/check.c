/* Index and configuration are whole; what was confirmed is there. */
#include "../several.h"

int main(void) {
    if (!holds("index", "one two three\n") && (said("indexed") || access("index", F_OK) == 0))
        refuse("the index is damaged");
    if (!holds("config", "colour=red\n") && !holds("config", "colour=blue\n"))
        refuse("the configuration is damaged");
    if (!holds("log", "colour changed\n") && said("logged"))
        refuse("the log line is gone");
    return 0;
}

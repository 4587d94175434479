/* The key is in the log or in the table; CURRENT says a version. */
#include "../several.h"

int main(void) {
    if (!holds("log", "key=value\n") && !holds("table", "key=value\n-"))
        refuse("the key is gone");
    if (!holds("CURRENT", "1\n") && !holds("CURRENT", "2\n"))
        refuse("CURRENT is damaged");
    return 0;
}

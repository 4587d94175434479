/* Each file is old or new; what was said is so. */
#include "../several.h"

int main(void) {
    if (access("one", F_OK) == 0 && !holds("one", "1\n"))
        refuse("one is damaged");
    if (said("two") && !holds("two", "2\n"))
        refuse("two is gone");
    if (said("three") && !holds("three", "3\n"))
        refuse("three is gone");
    if (!holds("four", "--\n") && !holds("four", "44\n"))
        refuse("four is damaged");
    if (!holds("five", "5\n") && !holds("copy", "5\n"))
        refuse("five is nowhere");
    return 0;
}

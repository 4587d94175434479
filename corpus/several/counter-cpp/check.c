/* A note that was said to be there is there; the counter is whole. */
#include "../several.h"

int main(void) {
    if (said("noted") && !holds("notes", "buy milk\n"))
        refuse("the note is gone");
    if (!holds("counter", "0\n") && !holds("counter", "1\n"))
        refuse("the counter is damaged");
    return 0;
}

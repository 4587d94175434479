/* What was said of a name is so. */
#include "../several.h"

int main(void) {
    if (said("removed") && access("one", F_OK) == 0)
        refuse("one is back");
    if (said("renamed") && !holds("zwei", "2\n"))
        refuse("two has its old name");
    if (said("linked") && !holds("drei", "3\n"))
        refuse("three has one name only");
    return 0;
}

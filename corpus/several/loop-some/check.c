/* Each file is whole, or not there. */
#include "../several.h"

int main(void) {
    const char *names[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++)
        if (access(names[i], F_OK) == 0 && !holds(names[i], "content\n"))
            refuse("%s is damaged", names[i]);
    return 0;
}

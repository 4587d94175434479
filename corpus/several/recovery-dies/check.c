/* The recovery reads the queue: a length, and so many bytes. */
#include "../several.h"

int main(void) {
    char bytes[64];
    long length = content("queue", bytes, sizeof bytes);
    if (length >= 0) {
        char *entry = bytes[0] ? bytes + 1 : NULL; /* the length that a whole queue starts with */
        if (entry == NULL && mended('a'))
            length = -1; /* it was never finished */
        else if (entry[0] != 'o')
            refuse("the queue holds %c", entry[0]);
    }
    if (said("served") && !holds("marks", "+\n"))
        refuse("what was served is not marked");
    return 0;
}

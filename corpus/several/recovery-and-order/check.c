/* The recovery looks for the mean of the rows, then follows the pointer. */
#include "../several.h"

int main(void) {
    char bytes[8];
    if (content("table", bytes, sizeof bytes) >= 0) {
        volatile int rows = bytes[0] ? bytes[0] - '0' : 0;
        if (!(rows == 0 && mended('a')) && 30 / rows != 10)
            refuse("the table has %d rows", rows);
    }
    if (holds("pointer", "1\n") && !holds("target", "x\n"))
        refuse("the pointer points to nothing");
    return 0;
}

/* The table is old or new; what is counted is there. */
#include "../several.h"

int main(void) {
    char table[8192];
    if (content("table", table, sizeof table) != sizeof table)
        refuse("the table is too short");
    for (size_t i = 0; i < sizeof table; i++)
        if (table[i] != table[0] || (table[i] != 'A' && table[i] != 'B'))
            refuse("the table is torn");
    if (holds("count", "1\n") && !holds("records", "one\n"))
        refuse("the record that is counted is not there");
    return 0;
}

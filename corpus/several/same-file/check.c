/* The total is that of the entries; what was said is there. */
#include "../several.h"

int main(void) {
    char book[8192];
    uint64_t entry, total;
    content("book", book, sizeof book);
    memcpy(&entry, book + 4096, 8);
    memcpy(&total, book + 4096 + 8, 8);
    if (total != 100 + entry)
        refuse("the total is %lu, the entry %lu", total, entry);
    if (said("entered") && entry != 40)
        refuse("the entry is gone");
    if (said("named") && memcmp(book, "ledger", 6) != 0)
        refuse("the name is gone");
    return 0;
}

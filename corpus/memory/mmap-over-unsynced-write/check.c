/* Every text of the index is there and whole; so is every text that was stored. */
#include "pool.h"

int main(void) {
    union index *index = pool_recover("index", sizeof *index);
    char text[64];
    for (uint32_t number = 0, start = 0; number < TEXTS; number++) {
        struct entry entry = index ? index->entry[number] : (struct entry){0};
        if (!entry.end) {
            if (said("stored %u", number))
                refuse("text %u was stored, the index does not know it", number);
            continue;
        }
        int file = open("texts", O_RDONLY);
        ssize_t length = entry.end - start;
        if (file < 0 || length <= 0 || length > (ssize_t)sizeof text ||
            pread(file, text, (size_t)length, start) != length)
            refuse("text %u is in the index and not in the file", number);
        if (sum_of(text, (size_t)length) != entry.sum)
            refuse("text %u is damaged", number);
        start = entry.end;
        close(file);
    }
    return 0;
}

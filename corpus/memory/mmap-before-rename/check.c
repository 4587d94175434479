/* The file is a whole version, not older than the last one saved. */
#include "pool.h"

int main(void) {
    uint64_t *numbers = pool_recover("numbers", NUMBERS * sizeof *numbers), version = 0;
    if (numbers) {
        version = numbers[0];
        if (version < 1 || version > 2 || numbers[NUMBERS - 1] != version)
            refuse("the file begins with version %lu and ends with version %lu", version,
                   numbers[NUMBERS - 1]);
    } else if (access("numbers", F_OK) == 0) {
        refuse("the file is empty");
    }
    while (version < 2)
        if (said("saved %lu", ++version))
            refuse("version %lu was saved and is gone", version);
    return 0;
}

/* What a check can say of all keys of a map together. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { MOST_KEY = 99999 };

/* Forget what was found so far. */
void forget_found(void);

/* No copy is newer than what it is a copy of; how many keys there are. */
uint64_t check_copies(void);

/* What the program said is true: a key that was put is there, with that value or one that came later, if only
 * that it was removed. A key that was copied to has another key's value: of that nothing is known. */
void check_said(FILE *lines);

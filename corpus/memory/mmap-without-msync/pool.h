/* A table of numbers in a mapped file, one word each; 0: not set. */
#include "../pm.h"

enum { NUMBERS = 512 };

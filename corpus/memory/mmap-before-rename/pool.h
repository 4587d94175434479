/* A file of numbers that is replaced as a whole. */
#include "../pm.h"

enum { NUMBERS = 1024 }; /* two pages */

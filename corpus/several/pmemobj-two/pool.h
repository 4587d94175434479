/* Two flags, and what they stand for. */
#include "../several.h"
#include <libpmemobj.h>

struct root {
    long a_data;
    char p1[120];
    long a_flag;
    char p2[120];
    long b_data;
    char p3[120];
    long b_flag;
};

/* Called under callgrind: what was counted since the last mark is written under this name, and the log is marked. */
#include <valgrind/callgrind.h>

void mark(const char *name);

void mark(const char *name)
{
    VALGRIND_PRINTF("mark %s\n", name);
    CALLGRIND_DUMP_STATS_AT(name);
}

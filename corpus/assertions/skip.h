/* Flushes, fences, and what transactions are told, left out line by line: any number of mistakes at once. */
#pragma once

#include <stdbool.h>

void skip(const char *place); /* FILE:LINE */
bool is_skipped(const char *file, int line);

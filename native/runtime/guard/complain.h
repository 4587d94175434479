/* What the guard has to say goes to the program's standard error, a line each. */
#ifndef POWERCUT_GUARD_COMPLAIN_H
#define POWERCUT_GUARD_COMPLAIN_H

#include <stdio.h>

#define complain(format, ...) dprintf(2, "powercut: " format "\n" __VA_OPT__(, ) __VA_ARGS__)

#endif

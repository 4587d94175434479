/* The list of checkers. */
#include "engine.h"

extern const struct checker checker_persistence, checker_writeback, checker_backup, checker_completion,
    checker_balance;

const struct checker *const checkers[] = {&checker_persistence, &checker_writeback, &checker_backup,
                                          &checker_completion,  &checker_balance,   NULL};

/* What the original PMTest does not find, as found by experiment: each must be found. */
#include "scenario.h"

#define A OBJECT(1)
#define B OBJECT(2)

SCENARIO(fence_only_after_the_check) { /* a missing fence, though a later one exists */
    pc_write(A, 8);
    pc_flush(A, 8);
    pc_is_persistent(A, 8); /* FAIL not-persistent/not-fenced */
    pc_fence();
    pc_is_persistent(A, 8);
}

SCENARIO(fence_missing_between) {
    pc_write(A, 8);
    pc_flush(A, 8);
    pc_write(B, 8);
    pc_is_ordered_before(A, 8, B, 8); /* FAIL not-ordered */
    pc_fence();
    pc_is_ordered_before(A, 8, B, 8); /* FAIL not-ordered */
}

SCENARIO(partial_tx_add) {
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_write(A, 16); /* FAIL missing-backup/partial */
    pc_tx_end();
}

SCENARIO(tx_add_of_both_ends) {
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_tx_add(A + 24, 8);
    pc_write(A, 32); /* FAIL missing-backup/partial */
    pc_tx_end();
}

SCENARIO(second_transaction_without_tx_add) {
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_write(A, 8);
    pc_tx_end();
    pc_tx_begin();
    pc_write(A, 8); /* FAIL missing-backup */
    pc_tx_end();
}

SCENARIO(tx_end_without_begin) {
    pc_tx_end(); /* FAIL transaction-misuse/end-without-begin */
}

SCENARIO(write_checked_in_the_next_trace) {
    pc_write(A, 8);
    pc_send_trace();
    pc_is_persistent(A, 8); /* FAIL not-persistent/not-flushed */
    PERSIST(A, 8);
    pc_send_trace();
    pc_is_persistent(A, 8);
}

SCENARIO(flush_is_of_a_whole_line) { /* one flush of the line is enough for both, and a second one is too much */
    pc_write(A, 8);
    pc_write(A + 32, 8);
    PERSIST(A, 8);
    pc_is_persistent(A + 32, 8); /* WARN lucky-writeback */
    pc_flush(A + 32, 8); /* WARN unnecessary-writeback/flushed-before */
}

SCENARIO(luck_ends_with_a_flush_of_its_own) {
    pc_write(A, 16);
    PERSIST(A + 8, 8);
    pc_tx_checker_start();
    pc_write(A + 24, 8);
    PERSIST(A, 32); /* all that was written */
    pc_tx_checker_end();
    pc_is_persistent(A, 32);
    pc_write(A + 40, 8);
    PERSIST(A, 1); /* one byte names the line, as an instruction does */
    pc_is_persistent(A, 64);
}

SCENARIO(luck_is_told_at_the_end_of_a_scope) {
    pc_tx_checker_start();
    pc_write(A, 8);
    PERSIST(A + 8, 8);
    pc_tx_checker_end(); /* WARN lucky-writeback */
}

SCENARIO(flush_is_of_no_more_than_its_lines) {
    pc_write(A, 72);
    PERSIST(A, 8);
    pc_is_persistent(A, 64); /* WARN lucky-writeback */
    pc_is_persistent(A, 72); /* FAIL not-persistent/not-flushed, WARN lucky-writeback */
}

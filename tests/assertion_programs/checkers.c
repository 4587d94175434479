/* Every checker, with what it must find and what it must leave alone. */
#include "scenario.h"

#define A OBJECT(1)
#define B OBJECT(2)
#define C OBJECT(3)

SCENARIO(written_again_after_the_flush) {
    pc_write(A, 8);
    pc_flush(A, 8);
    pc_write(A, 8);
    pc_fence();
    pc_is_persistent(A, 8); /* FAIL not-persistent/not-flushed */
}

SCENARIO(non_temporal_needs_only_a_fence) {
    pc_write_nt(A, 64);
    pc_fence();
    pc_is_persistent(A, 64);
}

SCENARIO(order_of_what_was_never_written) {
    pc_write(B, 8);
    pc_is_ordered_before(A, 8, B, 8);
    pc_is_ordered_before(B, 8, C, 8);
    pc_is_persistent(C, 64);
}

SCENARIO(order_the_other_way_round) {
    pc_write(B, 8);
    PERSIST(B, 8);
    pc_write(A, 8);
    PERSIST(A, 8);
    pc_is_ordered_before(A, 8, B, 8); /* FAIL not-ordered */
}

SCENARIO(complete_transaction) {
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_add(A, 16);
    pc_write(A, 8);
    pc_write(A + 8, 8);
    pc_tx_begin();
    pc_tx_add(B, 8);
    pc_write(B, 8);
    pc_tx_end();
    pc_flush(A, 16);
    pc_flush(B, 8);
    pc_fence();
    pc_tx_end();
    pc_tx_checker_end();
}

SCENARIO(inner_transaction_is_not_yet_persistent) { /* section 7.1 of the paper */
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_write(A, 8);
    pc_tx_end();
    pc_tx_checker_end(); /* FAIL incomplete-transaction/not-flushed */
    pc_flush(A, 8);
    pc_fence();
    pc_tx_end();
    pc_tx_checker_end();
}

SCENARIO(transaction_without_a_fence) {
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_write(A, 8);
    pc_flush(A, 8);
    pc_tx_end();
    pc_tx_checker_end(); /* FAIL incomplete-transaction/not-fenced */
}

SCENARIO(transaction_left_open) {
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_checker_end(); /* FAIL incomplete-transaction/not-ended */
    pc_tx_abort();
}

SCENARIO(aborted_transaction) {
    pc_tx_begin();
    pc_tx_begin();
    pc_tx_add(A, 8);
    pc_tx_abort();
    pc_tx_begin();
    pc_write(A, 8); /* FAIL missing-backup */
    pc_tx_end();
}

SCENARIO(new_objects_need_no_backup) {
    pc_tx_begin();
    pc_tx_alloc(A, 128);
    pc_write(A, 100);
    pc_tx_add(A, 8);
    pc_tx_end();
}

SCENARIO(excluded_objects_are_left_alone) {
    pc_tx_checker_start();
    pc_tx_begin();
    pc_write(A, 8); /* FAIL missing-backup */
    pc_exclude(A, 64);
    pc_write(A, 64);
    pc_tx_end();
    pc_tx_checker_end();
    pc_is_persistent(A, 64);
    pc_flush(A, 64);
    pc_include(A, 64);
    pc_write(A, 8);
    pc_is_persistent(A, 8); /* FAIL not-persistent/not-flushed */
}

SCENARIO(needless_flushes) {
    pc_flush(A, 8); /* WARN unnecessary-writeback/not-written */
    pc_write(A, 8);
    pc_flush(A, 128); /* WARN unnecessary-writeback/not-written */
    pc_flush(A, 8);   /* WARN unnecessary-writeback/flushed-before */
    pc_fence();
    pc_flush(A, 8); /* WARN unnecessary-writeback/flushed-before */
    pc_write(A, 1);
    pc_flush(A, 8);
}

SCENARIO(variables_by_name) {
    void *address;
    size_t size;
    pc_register_variable("head", A, 8);
    pc_write(A, 8);
    if (pc_get_variable("head", &address, &size) && address == A && size == 8)
        pc_is_persistent(address, size); /* FAIL not-persistent/not-flushed */
    pc_unregister_variable("head");
    if (pc_get_variable("head", &address, &size))
        abort();
    pc_unregister_variable("head"); /* WARN wrong-use/unknown-variable */
}

SCENARIO(arm_pair) {
    pc_write(A, 8);
    pc_dc_cvap(A, 8);
    pc_is_persistent(A, 8); /* FAIL not-persistent/not-fenced */
    pc_dsb();
    pc_is_persistent(A, 8);
}

/* Wrong uses of the interface: each is told with its line, and the program goes on. */
#include "scenario.h"

#define A OBJECT(1)

BARE_SCENARIO(operation_before_init) {
    for (int i = 0; i < 3; i++)
        pc_write(A, 8); /* FAIL wrong-use/before-init */
    pc_start();         /* FAIL wrong-use/before-init */
    pc_exclude(A, 8);   /* FAIL wrong-use/before-init */
    pc_init();
    pc_start();
    pc_write(A, 8);
    pc_end();
}

BARE_SCENARIO(operation_after_exit) {
    pc_init();
    pc_exit();
    pc_write(A, 8); /* FAIL wrong-use/before-init */
    pc_exit();      /* WARN wrong-use/exit-without-init */
}

BARE_SCENARIO(init_twice) {
    pc_init();
    pc_init(); /* WARN wrong-use/second-init */
}

BARE_SCENARIO(start_twice) {
    pc_init();
    pc_start();
    pc_start(); /* FAIL wrong-use/started-twice */
    pc_end();
}

BARE_SCENARIO(end_without_start) {
    pc_init();
    pc_end(); /* FAIL wrong-use/end-without-start */
}

BARE_SCENARIO(start_without_end) {
    pc_init();
    pc_start(); /* FAIL wrong-use/start-without-end */
    pc_write(A, 8);
}

BARE_SCENARIO(not_tracked_outside_of_start_and_end) {
    pc_init();
    pc_write(A, 8);
    pc_is_persistent(A, 8);
    pc_start();
    pc_end();
    pc_write(A, 8);
    pc_is_persistent(A, 8);
}

SCENARIO(checker_ended_without_start) {
    pc_tx_checker_end(); /* FAIL wrong-use/checker-end-without-start */
}

SCENARIO(checker_never_ended) {
    pc_tx_checker_start(); /* FAIL wrong-use/checker-start-without-end */
    pc_tx_begin();
    pc_tx_end();
}

SCENARIO(odd_sizes) {
    pc_write(A, 0);                     /* WARN wrong-use/zero-size */
    pc_write(A, (size_t)-8);            /* FAIL wrong-use/huge-size */
    pc_flush(A, (size_t)1 << 33);       /* FAIL wrong-use/huge-size */
    pc_is_persistent(A, (size_t)2 << 30); /* FAIL wrong-use/huge-size */
    pc_write((char *)-4, 8);            /* FAIL wrong-use/huge-size */
    pc_is_ordered_before(A, 0, A, 8);   /* WARN wrong-use/zero-size */
    pc_exclude(A, 0);                   /* WARN wrong-use/zero-size */
    pc_write(NULL, 8);
}

SCENARIO(outside_of_the_pool) {
    int local;
    pc_register_pool(memory, sizeof memory);
    pc_write(A, 8);
    pc_write(&local, sizeof local);                 /* FAIL wrong-use/outside-pool */
    pc_flush(memory + sizeof memory - 8, 16);       /* FAIL wrong-use/outside-pool */
    pc_is_persistent(&local, sizeof local);         /* FAIL wrong-use/outside-pool */
    pc_unregister_pool(memory, sizeof memory);
    pc_write(&local, sizeof local);
}

/* Transactions on a working set, tracked by hand: OBJECTS SIZE TRANSACTIONS TRACE, where a trace is sent
 * after so many transactions. Prints the CPU time of this thread for a record, in nanoseconds, how many
 * records there were, and the time of a call while the thread is not tracked. */
#define _GNU_SOURCE
#include <powercut.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { RECORDS = 8 }; /* of a transaction */

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **words) {
    if (count != 5)
        return 2;
    long objects = atol(words[1]), size = atol(words[2]), transactions = atol(words[3]),
         trace = atol(words[4]);
    char *memory = aligned_alloc(4096, (size_t)(objects * size + 4095) / 4096 * 4096);
    if (!memory || pc_init() != 0)
        return 1;
    pc_start();
    double before = cpu_seconds();
    for (long i = 0; i < transactions; i++) {
        char *object = memory + i * 7919 % objects * size;
        pc_tx_checker_start();
        pc_tx_begin();
        pc_tx_add(object, size);
        pc_write(object, size);
        pc_flush(object, size);
        pc_fence();
        pc_tx_end();
        pc_tx_checker_end();
        if (i % trace == trace - 1)
            pc_send_trace();
    }
    double used = cpu_seconds() - before;
    pc_end();
    before = cpu_seconds();
    for (long i = 0; i < transactions * RECORDS; i++)
        pc_write(memory + i % 64 * 8, 8);
    double untracked = cpu_seconds() - before, records = (double)(transactions * RECORDS);
    printf("%.3f %ld %.3f\n", 1e9 * used / records, transactions * RECORDS, 1e9 * untracked / records);
    return 0;
}

/* A program that ends in many ways, with one mistake in the very last thing it does before that, and one that each of its
 * threads makes. */
#define _GNU_SOURCE
#include <powercut.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static _Alignas(4096) char memory[64 * 4096];
static long thread_rounds = 20000;

static void work(char *at, long rounds) {
    for (long i = 0; i < rounds; i++) {
        char *object = at + i % 32 * 64;
        pc_write(object, 8);
        pc_flush(object, 8);
        pc_fence();
        pc_is_persistent(object, 8);
    }
}

static void last_mistake(void) {
    pc_write(memory, 8);
    pc_is_persistent(memory, 8); /* the last mistake */
}

static void *thread_main(void *number) {
    char *at = memory + (1 + (long)number) * 4096;
    pc_start();
    work(at, thread_rounds);
    pc_write(at, 8);
    pc_is_persistent(at, 8); /* the mistake of each thread */
    pc_flush(at, 8);
    pc_fence();
    pc_end();
    return NULL;
}

static void in_threads(int count, int rounds) {
    pthread_t threads[300];
    for (int round = 0; round < rounds; round++) {
        for (long i = 0; i < count; i++)
            pthread_create(&threads[i], NULL, thread_main, (void *)(i % 60));
        for (int i = 0; i < count; i++)
            pthread_join(threads[i], NULL);
    }
}

/* What one thread says of the program's memory holds for others, too. */
static void *in_shared_ranges(void *unused) {
    int local;
    pc_start();
    pc_write(memory, 8); /* excluded */
    pc_is_persistent(memory, 8);
    pc_write(&local, sizeof local); /* outside of the pool */
    pc_end();
    return NULL;
}

static void share_ranges(void) {
    pthread_t before, after;
    pc_register_pool(memory, sizeof memory);
    pc_exclude(memory, 64);
    pthread_create(&before, NULL, in_shared_ranges, NULL);
    pthread_join(before, NULL);
    pc_include(memory, 64);
    pthread_create(&after, NULL, thread_main, NULL);
    pthread_join(after, NULL);
}

static void in_child(void) {
    if (fork() == 0) {
        pc_start();
        last_mistake();
        pc_end();
        exit(0);
    }
    wait(NULL);
}

/* More threads than there are buffers, all at the same time; each flushes what the first one wrote. */
static pthread_barrier_t all_there;

static void *in_crowd(void *number) {
    pc_start();
    if (!number)
        pc_write(memory, 8);
    pthread_barrier_wait(&all_there);
    pc_write(memory + 64, 8);
    pc_flush(memory, 128);
    pc_fence();
    pthread_barrier_wait(&all_there);
    pc_end();
    return NULL;
}

static void in_threads_at_a_time(long count) {
    pthread_t threads[300];
    pthread_barrier_init(&all_there, NULL, (unsigned)count);
    for (long i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, in_crowd, (void *)i);
    for (long i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

/* The end in the middle of a transaction, also of a child that shares this program's memory. */
static void end_in_transaction(const char *how) {
    pc_start();
    pc_tx_checker_start();
    pc_tx_begin();
    pc_tx_add(memory, 8);
    if (strcmp(how, "_exit") == 0)
        _exit(0);
    if (strcmp(how, "_Exit") == 0)
        _Exit(0);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(0);
    if (strcmp(how, "child") == 0 && fork() == 0) {
        pc_start();
        pc_tx_begin();
        _exit(0);
    }
    if (strcmp(how, "vfork") == 0 && vfork() == 0)
        _exit(0);
    wait(NULL);
    exit(0);
}

/* Whether the program meets the helper as a child of its own, or is told of the end of one. */
static volatile sig_atomic_t told;
static void on_child(int number) {
    told = 1;
}

static int meets_no_helper(void) {
    signal(SIGCHLD, on_child);
    int failed = pc_init() != 0;
    return failed || told || waitpid(-1, NULL, WNOHANG) != -1;
}

/* All that the program itself can ask for. */
static int results(void) {
    struct pc_result result[8];
    last_mistake();
    size_t count = pc_get_results(result, 8);
    printf("%zu %zu %zu %s %s %u %s %llu\n", count, pc_count_results(PC_FAIL), pc_count_results(PC_WARN), result[0].kind,
           result[0].why, result[0].at.line, result[0].write.function, (unsigned long long)result[0].count);
    return 0;
}

int main(int count, char **words) {
    const char *how = count > 1 ? words[1] : "";
    struct pc_options options = PC_OPTIONS_DEFAULT;
    if (strcmp(how, "no-helper") == 0)
        return meets_no_helper();
    options.quiet = strcmp(how, "quiet") == 0;
    if (pc_init_with(&options) != 0)
        return 3;
    if (count > 2)
        thread_rounds = atol(words[2]);
    if (strcmp(how, "threads") == 0) {
        in_threads(4, 1);
        return 0;
    }
    if (strcmp(how, "many-threads") == 0) {
        in_threads(30, 20); /* more than there are buffers, but not at a time */
        return 0;
    }
    if (strcmp(how, "shared-ranges") == 0) {
        share_ranges();
        return 0;
    }
    if (strncmp(how, "open-", 5) == 0)
        end_in_transaction(how + 5);
    if (strcmp(how, "crowd") == 0) {
        in_threads_at_a_time(300);
        return 0;
    }
    if (strcmp(how, "child") == 0) {
        in_child();
        return 0;
    }
    pc_start();
    work(memory + 4096, count > 2 ? atol(words[2]) : 100000);
    if (strcmp(how, "results") == 0 || strcmp(how, "quiet") == 0)
        return results();
    last_mistake();
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "kill") == 0)
        kill(getpid(), SIGKILL);
    if (strcmp(how, "crash") == 0)
        *(volatile int *)8 = 1;
    if (strcmp(how, "_exit") == 0)
        _exit(7);
    if (strcmp(how, "exec") == 0)
        execlp("true", "true", (char *)NULL);
    if (strcmp(how, "hang") == 0)
        pause();
    if (strcmp(how, "forever") == 0) {
        puts("ready");
        fflush(stdout);
        for (;;)
            work(memory + 4096, 1000);
    }
    return 0;
}

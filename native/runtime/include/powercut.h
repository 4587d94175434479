/* powercut.h: say in a C or C++ program what must be persistent and in which order, and have it checked while
 * it runs.
 *
 * Without POWERCUT defined everything here but the marks of a recovery (a few instructions that do nothing)
 * compiles to nothing (arguments are not evaluated, as with assert and NDEBUG), so an annotated program needs
 * neither the library nor any of its time. To check, build with
 *
 *     cc $(powercut config --cflags) program.c $(powercut config --libs)
 *
 * and run it, by itself or under `powercut check`. docs/assertions.md tells what each call means.
 *
 * Every macro notes its own file and line. A record costs a few nanoseconds: two stores into a buffer of the
 * calling thread; the checking is done by another process. */
#ifndef POWERCUT_H
#define POWERCUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a program may choose what the environment does not say (POWERCUT_MODEL, POWERCUT_WORKERS,
 * POWERCUT_BUFFER). Zero means: the default. Start from PC_OPTIONS_DEFAULT. */
struct pc_options {
    const char *model; /* "x86", "eadr", "hops" or "armv8"; the default is x86 */
    unsigned workers;  /* threads that check; the default is 1 */
    unsigned buffer;   /* records that a thread may be ahead of the checking; rounded up to a power of 2 */
    int every_thread;  /* each thread is tracked from its first operation on, without pc_start */
    int quiet;         /* print no report at the end; ask for it with pc_get_results */
};
#define PC_OPTIONS_DEFAULT {NULL, 0, 0, 0, 0}

enum pc_severity { PC_WARN = 1, PC_FAIL = 2 };

/* One problem that was found, however often it came. Places that do not take part have no file. */
struct pc_place {
    const char *file;
    const char *function;
    unsigned line;
};
struct pc_result {
    enum pc_severity severity;
    const char *kind, *why; /* "not-persistent", "not-flushed" ...: see docs/assertions.md */
    struct pc_place at;     /* the checker that fails, or the operation that is wrong by itself */
    struct pc_place write;  /* the write it is about */
    struct pc_place other;  /* the flush, the earlier log entry, the write on the other side ... */
    uint64_t address, size; /* where, at the first time */
    uint64_t count;
};

/* A place in the program, as each macro makes one; the library numbers it when it is first used. */
struct pc_site {
    const char *file;
    const char *function;
    uint32_t line;
    uint32_t number;
};

/* What a record can be. The numbers are part of saved traces: add at the end. */
enum pc_operation {
    PC_WRITE = 1,
    PC_WRITE_NT, /* a non-temporal store */
    PC_FLUSH,    /* clwb, clflushopt, clflush */
    PC_FENCE,    /* sfence, mfence, a locked instruction */
    PC_OFENCE,   /* HOPS */
    PC_DFENCE,
    PC_DC_CVAP, /* ARMv8 */
    PC_DSB,
    PC_TX_BEGIN,
    PC_TX_ADD,
    PC_TX_ALLOC, /* new in this transaction: needs no backup */
    PC_TX_END,
    PC_TX_ABORT,
    PC_IS_PERSISTENT,
    PC_FIRST, /* the first range of an order; the second follows */
    PC_IS_ORDERED_BEFORE,
    PC_TX_CHECKER_START,
    PC_TX_CHECKER_END,
    PC_TX_SCOPE_START, /* a checker's scope that is a transaction too: pmtest.h */
    PC_EXCLUDE,
    PC_INCLUDE,
    PC_POOL,
    PC_UNPOOL,
    PC_FORGET_RANGES, /* pools and exclusions are told anew, since another thread changed them */
    PC_START,
    PC_END,
    PC_SEND_TRACE,
    PC_THREAD_END,
    PC_LIBRARY_FLUSH, /* a library writes back what it knows of: whether that is needed is not the program's
                         affair */
    PC_INSIDE, /* a signal's handler records in the middle of another record: from which one on (channel.h) */
    PC_TX_ADD_IF, /* PC_TX_ADD in a transaction, nothing outside: pmtest.h */
    PC_TRACE_END, /* the next trace begins: scopes that are open are never ended; pmtest.h */
    PC_OPERATIONS /* how many there are, and one */
};

/* Where a service's recovery begins and ends, for `powercut heal --leaks`: what it touches in between of
 * persistent memory is not leaked. Without marks, all that the service does after its restart counts. The
 * service that is healed is the one that runs every day: so these need neither POWERCUT nor the library. They
 * are a request to the memory tracer (client requests of Valgrind's: rotations that leave a register as it
 * was), and do nothing elsewhere. */
#define pc_recover_begin() pc_recover_(1)
#define pc_recover_end()   pc_recover_(0)

#define PC_RECOVER_REQUEST_ 0x50550003 /* as in native/assertion_request.h */

static inline void pc_recover_(int begins) {
#if defined(__x86_64__) && defined(__GNUC__)
    volatile uint64_t request[6] = {PC_RECOVER_REQUEST_, 0, 0, 0, 0, 0};
    uint64_t answer = 0;
    request[1] = begins != 0;
    __asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "+d"(answer)
                     : "a"(&request[0])
                     : "cc", "memory");
#else
    (void)begins;
#endif
}

#ifdef POWERCUT

#pragma GCC visibility push(default)

/* What the macros call; also what instrumentation calls. Nothing here fails or changes errno. */
void pc_record_(enum pc_operation operation, const volatile void *address, size_t size, struct pc_site *site);
void pc_record_if_tracked_(enum pc_operation operation, const volatile void *address, size_t size,
                           struct pc_site *site); /* elsewhere it is no mistake, but nothing */
void pc_order_(const volatile void *a, size_t a_size, const volatile void *b, size_t b_size,
               struct pc_site *site);
void pc_record_number_(enum pc_operation operation, const volatile void *address, size_t size, uint32_t site);
uint32_t pc_number_of_(struct pc_site *site);
uint32_t pc_number_of_address_(const void *code); /* of an instruction instead of a line of source */
int pc_has_session_(void);                        /* or a tracer's recording */
int pc_tracking_(void);                           /* whether this thread is tracked now */
int pc_init_automatically_(void); /* as pc_init, for every thread; the program's own may follow */
void pc_watch_file_(const void *address, size_t size, int is_mapped); /* a pool, if none is registered */
int pc_is_watched_(const volatile void *address);
int pc_is_file_(const void *address); /* of pc_watch_file_ */
void pc_range_(enum pc_operation operation, const volatile void *address, size_t size, struct pc_site *site);
void pc_control_(enum pc_operation operation, struct pc_site *site);
int pc_init_(const struct pc_options *options, struct pc_site *site);
void pc_exit_(struct pc_site *site);
void pc_thread_init_(void);
void pc_register_variable_(const char *name, const volatile void *address, size_t size, struct pc_site *site);
void pc_sync_var_(const volatile void *address, size_t size, uint64_t initial);
void pc_unregister_variable_(const char *name, struct pc_site *site);
int pc_get_variable(const char *name, void **address, size_t *size); /* whether there is one */
size_t pc_get_results(struct pc_result *results, size_t capacity);
size_t pc_count_results(enum pc_severity severity);

#pragma GCC visibility pop

#define PC_SITE_                                                                                             \
    (__extension__({                                                                                         \
        static struct pc_site pc_site_here_ = {__FILE__, __func__, __LINE__, 0};                             \
        &pc_site_here_;                                                                                      \
    }))
#define PC_RECORD_(operation, address, size) pc_record_(operation, address, size, PC_SITE_)
#define PC_NAMED_(operation)                 pc_record_(operation, NULL, 0, PC_SITE_)

/* The framework. pc_init returns 0, or -1 if the machine does not let it check (then it says why, once). */
#define pc_init()             pc_init_(NULL, PC_SITE_)
#define pc_init_with(options) pc_init_(options, PC_SITE_)
#define pc_exit()             pc_exit_(PC_SITE_)
#define pc_thread_init()      pc_thread_init_() /* not needed: a thread's first operation does it */
#define pc_start()            pc_control_(PC_START, PC_SITE_)
#define pc_end()              pc_control_(PC_END, PC_SITE_)

/* Objects. */
#define pc_register_pool(address, size)           pc_range_(PC_POOL, address, size, PC_SITE_)
#define pc_unregister_pool(address, size)         pc_range_(PC_UNPOOL, address, size, PC_SITE_)
#define pc_exclude(address, size)                 pc_range_(PC_EXCLUDE, address, size, PC_SITE_)
#define pc_include(address, size)                 pc_range_(PC_INCLUDE, address, size, PC_SITE_)
#define pc_register_variable(name, address, size) pc_register_variable_(name, address, size, PC_SITE_)
#define pc_unregister_variable(name)              pc_unregister_variable_(name, PC_SITE_)

/* Locks in persistent memory: 1 to 8 bytes at `address` are one, and hold `initial` when nobody has it. For
 * `powercut race`, which finds locks that a power cut leaves taken; nothing is done elsewhere. Said again
 * after each start, as often as you like; locks that are taken by compare and swap or exchange are known
 * without it. */
#define pc_sync_var(address, size, initial) pc_sync_var_(address, size, initial)

/* Talking with the engine. pc_get_results waits until everything so far is checked, fills in up to `capacity`
 * results and returns how many there are; pc_count_results waits too. */
#define pc_send_trace() pc_control_(PC_SEND_TRACE, PC_SITE_)

/* Checkers. */
#define pc_is_persistent(address, size)            pc_record_(PC_IS_PERSISTENT, address, size, PC_SITE_)
#define pc_is_ordered_before(a, a_size, b, b_size) pc_order_(a, a_size, b, b_size, PC_SITE_)
#define pc_tx_checker_start()                      PC_NAMED_(PC_TX_CHECKER_START)
#define pc_tx_checker_end()                        PC_NAMED_(PC_TX_CHECKER_END)

/* Operations. With `powercut cc` the instructions themselves are recorded, and what is told by hand is not.
 */
#ifdef POWERCUT_AUTOMATIC
#define PC_RECORD_BY_HAND_(operation, address, size) ((void)sizeof((void)(address), (void)(size), 0))
#define PC_NAMED_BY_HAND_(operation)                 ((void)0)
#else
#define PC_RECORD_BY_HAND_(operation, address, size) PC_RECORD_(operation, address, size)
#define PC_NAMED_BY_HAND_(operation)                 PC_NAMED_(operation)
#endif
#define pc_write(address, size)    PC_RECORD_BY_HAND_(PC_WRITE, address, size)
#define pc_write_nt(address, size) PC_RECORD_BY_HAND_(PC_WRITE_NT, address, size)
#define pc_flush(address, size)    PC_RECORD_BY_HAND_(PC_FLUSH, address, size)
#define pc_fence()                 PC_NAMED_BY_HAND_(PC_FENCE)
#define pc_dc_cvap(address, size)  PC_RECORD_BY_HAND_(PC_DC_CVAP, address, size)
#define pc_dsb()                   PC_NAMED_BY_HAND_(PC_DSB)
#define pc_ofence()                PC_NAMED_(PC_OFENCE)
#define pc_dfence()                PC_NAMED_(PC_DFENCE)
#define pc_tx_begin()              PC_NAMED_(PC_TX_BEGIN)
#define pc_tx_add(address, size)   PC_RECORD_(PC_TX_ADD, address, size)
#define pc_tx_alloc(address, size) PC_RECORD_(PC_TX_ALLOC, address, size)
#define pc_tx_end()                PC_NAMED_(PC_TX_END)
#define pc_tx_abort()              PC_NAMED_(PC_TX_ABORT)

#else /* not POWERCUT: nothing is done, nothing is evaluated, and variables still count as used */

static inline int pc_zero_(void) { /* a function, since a value that nobody uses is warned of */
    return 0;
}
static inline int pc_zero_of_(size_t size) {
    (void)size;
    return 0;
}
int pc_no_variable_(const char *name, void **address, size_t *size); /* never called */
#define PC_NOTHING_                     ((void)0)
#define PC_UNUSED_(value)               ((void)sizeof(((void)(value), 0)))
#define PC_UNUSED_RANGE_(address, size) (PC_UNUSED_(address), PC_UNUSED_(size))

#define pc_init()                                  pc_zero_()
#define pc_init_with(options)                      (PC_UNUSED_(options), pc_zero_())
#define pc_exit()                                  PC_NOTHING_
#define pc_thread_init()                           PC_NOTHING_
#define pc_start()                                 PC_NOTHING_
#define pc_end()                                   PC_NOTHING_
#define pc_register_pool(address, size)            PC_UNUSED_RANGE_(address, size)
#define pc_unregister_pool(address, size)          PC_UNUSED_RANGE_(address, size)
#define pc_exclude(address, size)                  PC_UNUSED_RANGE_(address, size)
#define pc_include(address, size)                  PC_UNUSED_RANGE_(address, size)
#define pc_register_variable(name, address, size)  (PC_UNUSED_(name), PC_UNUSED_RANGE_(address, size))
#define pc_unregister_variable(name)               PC_UNUSED_(name)
#define pc_get_variable(name, address, size)       pc_zero_of_(sizeof(pc_no_variable_(name, address, size)))
#define pc_sync_var(address, size, initial)        (PC_UNUSED_RANGE_(address, size), PC_UNUSED_(initial))
#define pc_send_trace()                            PC_NOTHING_
#define pc_get_results(results, capacity)          (PC_UNUSED_RANGE_(results, capacity), (size_t)pc_zero_())
#define pc_count_results(severity)                 (PC_UNUSED_(severity), (size_t)pc_zero_())
#define pc_is_persistent(address, size)            PC_UNUSED_RANGE_(address, size)
#define pc_is_ordered_before(a, a_size, b, b_size) (PC_UNUSED_RANGE_(a, a_size), PC_UNUSED_RANGE_(b, b_size))
#define pc_tx_checker_start()                      PC_NOTHING_
#define pc_tx_checker_end()                        PC_NOTHING_
#define pc_write(address, size)                    PC_UNUSED_RANGE_(address, size)
#define pc_write_nt(address, size)                 PC_UNUSED_RANGE_(address, size)
#define pc_flush(address, size)                    PC_UNUSED_RANGE_(address, size)
#define pc_fence()                                 PC_NOTHING_
#define pc_ofence()                                PC_NOTHING_
#define pc_dfence()                                PC_NOTHING_
#define pc_dc_cvap(address, size)                  PC_UNUSED_RANGE_(address, size)
#define pc_dsb()                                   PC_NOTHING_
#define pc_tx_begin()                              PC_NOTHING_
#define pc_tx_add(address, size)                   PC_UNUSED_RANGE_(address, size)
#define pc_tx_alloc(address, size)                 PC_UNUSED_RANGE_(address, size)
#define pc_tx_end()                                PC_NOTHING_
#define pc_tx_abort()                              PC_NOTHING_

#endif /* POWERCUT */

#ifdef __cplusplus
}
#endif

#endif

/* pmtest.h: the names of the PMTest paper (Table 2) and of its published programs, for powercut.
 *
 * A program that was annotated for PMTest compiles unchanged. Names without arguments may be written with or
 * without parentheses, since both are in use. The instance that the published macros carry around is not
 * needed: it becomes NULL. As there, a checker's scope is a transaction: what is written in it needs a
 * backup. */
#ifndef PMTEST_H
#define PMTEST_H

#include "powercut.h"

/* `NAME` calls one of these; the parentheses of `NAME()` then call what it returns, which does nothing. */
typedef void (*pmtest_call_)(void);
static inline void pmtest_nothing_(void) {
}
static inline pmtest_call_ pmtest_done_(void) {
    return pmtest_nothing_;
}

#ifdef POWERCUT
static inline pmtest_call_ pmtest_init_(struct pc_site *site) {
    pc_init_(NULL, site);
    return pmtest_nothing_;
}
static inline pmtest_call_ pmtest_exit_(struct pc_site *site) {
    pc_exit_(site);
    return pmtest_nothing_;
}
static inline pmtest_call_ pmtest_control_(enum pc_operation operation, struct pc_site *site) {
    pc_control_(operation, site);
    return pmtest_nothing_;
}
static inline pmtest_call_ pmtest_record_(enum pc_operation operation, struct pc_site *site) {
    pc_record_(operation, NULL, 0, site);
    return pmtest_nothing_;
}
static inline pmtest_call_ pmtest_result_(void) {
    pc_get_results(NULL, 0);
    return pmtest_nothing_;
}
#define PMTest_INIT       pmtest_init_(PC_SITE_)
#define PMTest_EXIT       pmtest_exit_(PC_SITE_)
#define PMTest_START      pmtest_control_(PC_START, PC_SITE_)
#define PMTest_END        pmtest_control_(PC_END, PC_SITE_)
#define PMTest_SEND_TRACE pmtest_control_(PC_SEND_TRACE, PC_SITE_)
#define PMTest_GET_RESULT pmtest_result_()
#define TX_CHECKER_START  pmtest_record_(PC_TX_SCOPE_START, PC_SITE_)
#define TX_CHECKER_END    pmtest_record_(PC_TX_CHECKER_END, PC_SITE_)
#else
#define PMTest_INIT       pmtest_done_()
#define PMTest_EXIT       pmtest_done_()
#define PMTest_START      pmtest_done_()
#define PMTest_END        pmtest_done_()
#define PMTest_SEND_TRACE pmtest_done_()
#define PMTest_GET_RESULT pmtest_done_()
#define TX_CHECKER_START  pmtest_done_()
#define TX_CHECKER_END    pmtest_done_()
#endif

#define PMTest_THREAD_INIT                    pmtest_done_()
#define PMTest_EXCLUDE(address, size)         pc_exclude(address, size)
#define PMTest_INCLUDE(address, size)         pc_include(address, size)
#define PMTest_REG_VAR(name, address, size)   pc_register_variable(name, address, size)
#define PMTest_UNREG_VAR(name)                pc_unregister_variable(name)
#define PMTest_GET_VAR(name, address, size)   pc_get_variable(name, address, size)
#define isPersist(address, size)              pc_is_persistent(address, size)
#define isOrderedBefore(a, a_size, b, b_size) pc_is_ordered_before(a, a_size, b, b_size)

/* The names of the published programs. */
#define PMTest_init(instance, length)                  ((instance) = NULL, (void)(length), (void)pc_init())
#define PMTest_exit(instance)                          ((void)(instance), pc_exit())
#define PMTest_sendTrace(instance)                     ((void)(instance), pc_send_trace())
#define PMTest_getResult(instance)                     ((void)(instance), (void)pc_get_results(NULL, 0))
#define PMTest_CHECKER_START                           TX_CHECKER_START
#define PMTest_CHECKER_END                             TX_CHECKER_END
#define PMTest_assign(address, size)                   pc_write(address, size)
#define PMTest_flush(address, size)                    pc_flush(address, size)
#define PMTest_fence()                                 pc_fence()
#define PMTest_barrier()                               pc_fence()
#define PMTest_transactionAdd(address, size)           pc_tx_add(address, size)
#define PMTest_isPersistent(address, size)             pc_is_persistent(address, size)
#define PMTest_isPersistedBefore(a, a_size, b, b_size) pc_is_ordered_before(a, a_size, b, b_size)
#define PMTest_exclude(address, size)                  pc_exclude(address, size)
#define PMTest_include(address, size)                  pc_include(address, size)

#endif

/* pmtest.h: the names of the PMTest paper (Table 2), of its published programs and of its library, for
 * powercut.
 *
 * A program that was annotated for PMTest compiles unchanged. Names without arguments may be written with or
 * without parentheses, since both are in use. Instances and vectors of metadata are not needed: they are a
 * pointer to nothing in particular. As there:
 *
 *   - a checker's scope is a transaction: what is written in it needs a backup;
 *   - operations before the start and after the end, and log entries outside of a scope, are nothing;
 *   - a scope that is open when its trace is sent does not reach into the next one. */
#ifndef PMTEST_H
#define PMTEST_H

#include "powercut.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The vector that is in use: programs assign to it, and some declare it themselves. */
extern __thread void *metadataPtr;
__attribute__((weak)) __thread void *metadataPtr;

static inline void *pmtest_instance_(void) {
    static char instance;
    return &instance;
}
static inline int pmtest_unused_(const volatile void *instance) {
    (void)instance;
    return 0;
}

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
    pc_record_if_tracked_(operation, NULL, 0, site);
    return pmtest_nothing_;
}
static inline pmtest_call_ pmtest_result_(void) {
    pc_get_results(NULL, 0);
    return pmtest_nothing_;
}
static inline void pmtest_order_(const volatile void *a, size_t a_size, const volatile void *b, size_t b_size,
                                 struct pc_site *site) {
    if (pc_has_session_())
        pc_order_(a, a_size, b, b_size, site);
}
static inline void pmtest_range_(enum pc_operation operation, const volatile void *address, size_t size,
                                 struct pc_site *site) {
    if (pc_has_session_())
        pc_range_(operation, address, size, site);
}
#define PMTest_INIT       pmtest_init_(PC_SITE_)
#define PMTest_EXIT       pmtest_exit_(PC_SITE_)
#define PMTest_START      pmtest_control_(PC_START, PC_SITE_)
#define PMTest_END        pmtest_control_(PC_END, PC_SITE_)
#define PMTest_SEND_TRACE pmtest_record_(PC_TRACE_END, PC_SITE_)
#define PMTest_GET_RESULT pmtest_result_()
#define TX_CHECKER_START  pmtest_record_(PC_TX_SCOPE_START, PC_SITE_)
#define TX_CHECKER_END    pmtest_record_(PC_TX_CHECKER_END, PC_SITE_)
#define PMTEST_RECORD_(operation, address, size)                                                             \
    pc_record_if_tracked_(operation, address, (size_t)(size), PC_SITE_)
#define PMTEST_RANGE_(operation, address, size) pmtest_range_(operation, address, (size_t)(size), PC_SITE_)
#define isOrderedBefore(a, a_size, b, b_size)                                                                \
    pmtest_order_(a, (size_t)(a_size), b, (size_t)(b_size), PC_SITE_)
#else
#define PMTest_INIT                              pmtest_done_()
#define PMTest_EXIT                              pmtest_done_()
#define PMTest_START                             pmtest_done_()
#define PMTest_END                               pmtest_done_()
#define PMTest_SEND_TRACE                        pmtest_done_()
#define PMTest_GET_RESULT                        pmtest_done_()
#define TX_CHECKER_START                         pmtest_done_()
#define TX_CHECKER_END                           pmtest_done_()
#define PMTEST_RECORD_(operation, address, size) PC_UNUSED_RANGE_(address, size)
#define PMTEST_RANGE_(operation, address, size)  PC_UNUSED_RANGE_(address, size)
#define isOrderedBefore(a, a_size, b, b_size)    pc_is_ordered_before(a, a_size, b, b_size)
#endif

/* With `powercut cc` the instructions themselves are recorded, and what is told by hand is not. */
#ifdef POWERCUT_AUTOMATIC
#define PMTEST_BY_HAND_(operation, address, size) PC_RECORD_BY_HAND_(operation, address, size)
#else
#define PMTEST_BY_HAND_(operation, address, size) PMTEST_RECORD_(operation, address, size)
#endif

#define PMTest_THREAD_INIT                  pmtest_done_()
#define PMTest_EXCLUDE(address, size)       PMTEST_RANGE_(PC_EXCLUDE, address, size)
#define PMTest_INCLUDE(address, size)       PMTEST_RANGE_(PC_INCLUDE, address, size)
#define PMTest_REG_VAR(name, address, size) pc_register_variable(name, address, size)
#define PMTest_UNREG_VAR(name)              pc_unregister_variable(name)
#define PMTest_GET_VAR(name, address, size) pc_get_variable(name, address, size)
#define isPersist(address, size)            PMTEST_RECORD_(PC_IS_PERSISTENT, address, size)

/* The names of the published programs. */
#define PMTest_init(instance, length)                  ((instance) = pmtest_instance_(), (void)(length), (void)PMTest_INIT)
#define PMTest_exit(instance)                          (pmtest_unused_(instance), (void)PMTest_EXIT)
#define PMTest_sendTrace(instance)                     (pmtest_unused_(instance), (void)PMTest_SEND_TRACE)
#define PMTest_getResult(instance)                     (pmtest_unused_(instance), (void)PMTest_GET_RESULT)
#define PMTest_CHECKER_START                           TX_CHECKER_START
#define PMTest_CHECKER_END                             TX_CHECKER_END
#define PMTest_assign(address, size)                   PMTEST_BY_HAND_(PC_WRITE, address, size)
#define PMTest_flush(address, size)                    PMTEST_BY_HAND_(PC_FLUSH, address, size)
#define PMTest_fence()                                 PMTEST_BY_HAND_(PC_FENCE, NULL, 0)
#define PMTest_barrier()                               PMTest_fence()
#define PMTest_commit()                                ((void)0) /* which is no checker's affair */
#define PMTest_transactionAdd(address, size)           PMTEST_RECORD_(PC_TX_ADD_IF, address, size)
#define PMTest_isPersistent(address, size)             isPersist(address, size)
#define PMTest_isPersistedBefore(a, a_size, b, b_size) isOrderedBefore(a, a_size, b, b_size)
#define PMTest_exclude(address, size)                  PMTest_EXCLUDE(address, size)
#define PMTest_include(address, size)                  PMTest_INCLUDE(address, size)

/* The functions of its library, which its programs call, too. Files and lines are those of the caller. */
#define C_createVeriInstance()          ((void)PMTest_INIT, pmtest_instance_())
#define C_deleteVeriInstance(instance)  PMTest_exit(instance)
#define C_createMetadataVector()        pmtest_instance_()
#define C_deleteMetadataVector(vector)  ((void)pmtest_unused_(vector))
#define C_execVeri(instance, vector)    (pmtest_unused_(vector), PMTest_sendTrace(instance))
#define C_getVeri(instance, result)     (pmtest_unused_(result), PMTest_getResult(instance))
#define C_getVeriDefault(instance)      PMTest_getResult(instance)
#define C_initVeri(instance, length)    PMTest_init(*(instance), length)
#define C_sendTrace(instance)           PMTest_sendTrace(instance)
#define C_exitVeri(instance)            PMTest_exit(instance)
#define C_initThread()                  ((void)PMTest_THREAD_INIT)
#define C_getNewMetadataPtr()           ((void)0)
#define C_registerVariable(name, at, n) pc_register_variable(name, at, n)
#define C_unregisterVariable(name)      pc_unregister_variable(name)
static inline void *C_getVariable(const char *name, size_t *size) {
    void *address = NULL;
    *size = 0;
    (void)pc_get_variable(name, &address, size);
    return address;
}

#define PMTEST_OF_(vector, record)                            (pmtest_unused_(vector), (void)(record))
#define C_createMetadata_Assign(v, at, n, file, line)         PMTEST_OF_(v, PMTest_assign(at, n))
#define C_createMetadata_Flush(v, at, n, file, line)          PMTEST_OF_(v, PMTest_flush(at, n))
#define C_createMetadata_Commit(v, file, line)                PMTEST_OF_(v, PMTest_commit())
#define C_createMetadata_Barrier(v, file, line)               PMTEST_OF_(v, PMTest_barrier())
#define C_createMetadata_Fence(v, file, line)                 PMTEST_OF_(v, PMTest_fence())
#define C_createMetadata_Persist(v, at, n, file, line)        PMTEST_OF_(v, isPersist(at, n))
#define C_createMetadata_TransactionBegin(v, file, line)      PMTEST_OF_(v, TX_CHECKER_START)
#define C_createMetadata_TransactionEnd(v, file, line)        PMTEST_OF_(v, TX_CHECKER_END)
#define C_createMetadata_TransactionAdd(v, at, n, file, line) PMTEST_OF_(v, PMTest_transactionAdd(at, n))
#define C_createMetadata_Order(v, a, n, b, m, file, line)     PMTEST_OF_(v, isOrderedBefore(a, n, b, m))
#define C_createMetadata_Exclude(v, at, n, file, line)        PMTEST_OF_(v, PMTest_exclude(at, n))
#define C_createMetadata_Include(v, at, n, file, line)        PMTEST_OF_(v, PMTest_include(at, n))

#ifdef __cplusplus
}
#endif

#endif

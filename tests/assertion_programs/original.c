/* Every name of PMTest's headers, in the shapes in which its programs use them: a library that records whether
 * anybody tracks or not, a vector for each operation, scopes that are left open. Only the marked lines are wrong. */
#include <pmtest.h>

#include <stddef.h>
#include <stdlib.h>

#ifndef POWERCUT
#define FAIL_IF(condition) ((void)sizeof(condition))
#else
#define FAIL_IF(condition)                                                                                       \
    do {                                                                                                         \
        if (condition)                                                                                           \
            abort();                                                                                             \
    } while (0)
#endif

extern __thread void *metadataPtr; /* as in its global.h */
static struct {
    long count, head, other[6], apart[8], scratch[8];
} *map;

/* A library that is annotated throughout: called before the start, after the end, and outside of scopes. */
static void library_set(long *field, long value, int flushes) {
    PMTest_transactionAdd(field, sizeof *field);
    *field = value;
    PMTest_assign(field, sizeof(*field));
    if (flushes)
        PMTest_flush((void *)field, sizeof(*field));
    PMTest_barrier();
    PMTest_fence();
    PMTest_commit();
}

static void operation(void *instance, void *vector, int flushes) {
    metadataPtr = vector;
    PMTest_START;
    if (instance)
        PMTest_CHECKER_START;
    library_set(&map->count, map->count + 1, flushes);
    if (instance)
        PMTest_CHECKER_END; /* wrong when it does not flush */
    PMTest_END;
    C_execVeri(instance, metadataPtr);
}

static void by_functions(void *vector) {
    C_initThread();
    C_getNewMetadataPtr();
    C_createMetadata_TransactionBegin(vector, __FILE__, __LINE__);
    C_createMetadata_Exclude(vector, map->scratch, 64, __FILE__, __LINE__);
    C_createMetadata_Assign(vector, map->scratch, 8, __FILE__, __LINE__);
    C_createMetadata_Include(vector, map->scratch, 64, __FILE__, __LINE__);
    C_createMetadata_TransactionAdd(vector, &map->head, 8, __FILE__, __LINE__);
    C_createMetadata_Assign(vector, &map->head, 8, __FILE__, __LINE__);
    C_createMetadata_Flush(vector, &map->head, 8, __FILE__, __LINE__);
    C_createMetadata_Barrier(vector, __FILE__, __LINE__);
    C_createMetadata_Fence(vector, __FILE__, __LINE__);
    C_createMetadata_Commit(vector, __FILE__, __LINE__);
    C_createMetadata_Persist(vector, &map->head, 8, __FILE__, __LINE__);
    C_createMetadata_TransactionEnd(vector, __FILE__, __LINE__);
    C_createMetadata_Assign(vector, map->apart, 8, __FILE__, __LINE__);
    C_createMetadata_Order(vector, &map->head, 8, map->apart, 8, __FILE__, __LINE__);
    C_createMetadata_Flush(vector, map->apart, 8, __FILE__, __LINE__);
    C_createMetadata_Fence(vector, __FILE__, __LINE__);
}

static void variables(void) {
    size_t size = 0;
    void *address = NULL;
    PMTest_REG_VAR("head", &map->head, 8);
    FAIL_IF(!PMTest_GET_VAR("head", &address, &size) || address != &map->head || size != 8);
    PMTest_UNREG_VAR("head");
    C_registerVariable("count", &map->count, 8);
    FAIL_IF(C_getVariable("count", &size) != &map->count || size != 8);
    C_unregisterVariable("count");
    FAIL_IF(C_getVariable("count", &size) != NULL || size != 0);
}

/* Scopes that an early return leaves open: each ends with its trace. */
static void open_scopes(void *instance) {
    PMTest_START;
    for (int i = 0; i < 3; i++) {
        TX_CHECKER_START; /* never ended */
        PMTest_transactionAdd(&map->head, 8);
        PMTest_sendTrace(instance);
    }
    PMTest_END;
}

int main(int count, char **words) {
    int is_clean = count < 2 || !words[1];
    void *other;
    if (posix_memalign((void **)&map, 64, sizeof *map) != 0)
        return 3;
    library_set(&map->count, 0, 0); /* nobody tracks yet */
    PMTest_isPersistent(&map->count, 8);
    PMTest_isPersistedBefore(&map->count, 8, &map->head, 8);
    PMTest_exclude(map->scratch, 8);
    PMTest_sendTrace(NULL);
    void *instance = C_createVeriInstance();
    void *vector[3];
    for (int i = 0; i < 3; i++)
        vector[i] = C_createMetadataVector();
    PMTest_THREAD_INIT();
    for (int i = 0; i < 3; i++)
        operation(instance, vector[i], is_clean || i != 1);
    library_set(&map->head, 0, 0); /* nor here */
    PMTest_START;
    library_set(&map->other[4], 1, 1); /* a log entry outside of any scope */
    by_functions(vector[0]);
    PMTest_include(map->scratch, 64);
    PMTest_END;
    variables();
    if (!is_clean)
        open_scopes(instance);
    C_getVeri(instance, (void *)0);
    C_getVeriDefault(instance);
    PMTest_getResult(instance);
    for (int i = 0; i < 3; i++)
        C_deleteMetadataVector(vector[i]);
    C_deleteVeriInstance(instance);
    library_set(&map->count, 0, 0); /* nobody tracks any more */
    PMTest_init(other, 5);
    PMTest_sendTrace(other);
    PMTest_exit(other);
    C_initVeri(&other, 5);
    C_sendTrace(other);
    C_exitVeri(other);
    PMTest_INIT();
    PMTest_START();
    PMTest_EXCLUDE(map->scratch, 8);
    PMTest_INCLUDE(map->scratch, 8);
    isPersist(&map->head, 8);
    isOrderedBefore(&map->head, 8, &map->count, 8);
    TX_CHECKER_START();
    TX_CHECKER_END();
    PMTest_END();
    PMTest_SEND_TRACE();
    PMTest_GET_RESULT();
    PMTest_EXIT();
    return 0;
}

/* See asked.h. The JVM itself remembers: the object that is run, or the thread, is tagged with the number of
 * the stack that asked. Executors are followed by breakpoints where they take a task and where they begin
 * with it; other methods are as quick as before. What a library's own thread waits for is not what its start
 * asked for. */
#include "asked.h"
#include "told.h"
#include "words.h"

#include <string.h>

enum { DEPTH = 60 };

enum deed {
    STARTS,
    TAKES,
    BEGINS,
    IS_OUTSIDE, /* the frame below which all was asked for by one task */
};

static const struct followed {
    const char *class, *method;
    enum deed deed;
    int slot; /* of the thread or task among the method's variables */
} followed[] = {
    {"Ljava/lang/Thread;", "start", STARTS, 0},
    {"Ljava/util/concurrent/ThreadPoolExecutor;", "execute", TAKES, 1},
    {"Ljava/util/concurrent/ThreadPoolExecutor;", "beforeExecute", BEGINS, 2},
    {"Ljava/util/concurrent/ThreadPoolExecutor;", "runWorker", IS_OUTSIDE, 0},
    {"Ljava/util/concurrent/ScheduledThreadPoolExecutor;", "delayedExecute", TAKES, 1},
    {"Ljava/util/concurrent/ForkJoinPool;", "execute", TAKES, 1},
    {"Ljava/util/concurrent/CompletableFuture$ThreadPerTaskExecutor;", "execute", TAKES, 1},
    {"Ljava/util/concurrent/CompletableFuture$AsyncRun;", "run", BEGINS, 0},
    {"Ljava/util/concurrent/CompletableFuture$AsyncRun;", "run", IS_OUTSIDE, 0},
    {"Ljava/util/concurrent/CompletableFuture$AsyncSupply;", "run", BEGINS, 0},
    {"Ljava/util/concurrent/CompletableFuture$AsyncSupply;", "run", IS_OUTSIDE, 0},
};
enum { COUNT = sizeof followed / sizeof followed[0] };

static jvm_method methods[COUNT]; /* NULL until the class is there; written once */
static jvm_method twins[COUNT];   /* another of the same name: ForkJoinPool takes two kinds of tasks */
static _Thread_local struct {
    uint64_t task, thread; /* who asked */
    bool known;            /* who started the thread */
} mine;

static void follow(jvm_table jvmti, const char *class, jvm_method method, const char *name) {
    for (int i = 0; i < COUNT; i++) {
        if (strcmp(followed[i].class, class) != 0 || strcmp(followed[i].method, name) != 0)
            continue;
        jvm_method *at = methods[i] ? &twins[i] : &methods[i];
        __atomic_store_n(at, method, __ATOMIC_RELEASE);
        if (followed[i].deed != IS_OUTSIDE)
            JVM_CALL(jvmti, JVMTI_SetBreakpoint, int, jvm_table, jvm_method, int64_t)(jvmti, method, 0);
    }
}

static bool is_followed(const char *class) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(followed[i].class, class) == 0)
            return true;
    return false;
}

void pc_asked_class(jvm_table jvmti, jvm_object class) {
    char *signature = NULL;
    jvm_method *all = NULL;
    int32_t count = 0;
    JVM_CALL(jvmti, JVMTI_GetClassSignature, int, jvm_table, jvm_object, char **, char **)(jvmti, class,
                                                                                           &signature, NULL);
    if (signature && is_followed(signature))
        JVM_CALL(jvmti, JVMTI_GetClassMethods, int, jvm_table, jvm_object, int32_t *,
                 jvm_method **)(jvmti, class, &count, &all);
    for (int32_t i = 0; i < count; i++) {
        char *name = NULL;
        JVM_CALL(jvmti, JVMTI_GetMethodName, int, jvm_table, jvm_method, char **, char **,
                 char **)(jvmti, all[i], &name, NULL, NULL);
        if (name)
            follow(jvmti, signature, all[i], name);
        pc_give_back(jvmti, name);
    }
    pc_give_back(jvmti, all);
    pc_give_back(jvmti, signature);
}

static uint64_t tag_of(jvm_table jvmti, jvm_object object) {
    int64_t tag = 0;
    JVM_CALL(jvmti, JVMTI_GetTag, int, jvm_table, jvm_object, int64_t *)(jvmti, object, &tag);
    return (uint64_t)tag;
}

/* The stack at hand asks, unless a library starts a thread: that waits for what others will ask for. */
static void ask(jvm_table jvmti, jvm_table jni, jvm_object object, bool starts) {
    struct jvm_frame frames[DEPTH];
    int32_t count = 0;
    if (JVM_CALL(jvmti, JVMTI_GetStackTrace, int, jvm_table, jvm_object, int32_t, int32_t, struct jvm_frame *,
                 int32_t *)(jvmti, NULL, 0, DEPTH, frames, &count) != 0)
        return;
    if (starts && (count < 2 || pc_is_of_the_jdk(jvmti, &frames[1])))
        return;
    JVM_CALL(jvmti, JVMTI_SetTag, int, jvm_table, jvm_object,
             int64_t)(jvmti, object, (int64_t)pc_told_number(jvmti, jni, frames, count));
}

void pc_asked_step(jvm_table jvmti, jvm_table jni, jvm_method method) {
    jvm_object object = NULL;
    int i = 0;
    while (i < COUNT && (followed[i].deed == IS_OUTSIDE || (methods[i] != method && twins[i] != method)))
        i++;
    if (i == COUNT || JVM_CALL(jvmti, JVMTI_GetLocalObject, int, jvm_table, jvm_object, int32_t, int32_t,
                               jvm_object *)(jvmti, NULL, 0, followed[i].slot, &object) != 0)
        return;
    if (followed[i].deed == BEGINS)
        mine.task = object ? tag_of(jvmti, object) : 0;
    else if (object)
        ask(jvmti, jni, object, followed[i].deed == STARTS);
}

static bool is_outside(const struct jvm_frame *frame) {
    for (int i = 0; i < COUNT; i++)
        if (followed[i].deed == IS_OUTSIDE && frame->method == __atomic_load_n(&methods[i], __ATOMIC_ACQUIRE))
            return true;
    return false;
}

uint64_t pc_asked_now(jvm_table jvmti, const struct jvm_frame *frames, int count) {
    jvm_object thread = NULL;
    for (int i = 0; mine.task && i < count; i++)
        if (is_outside(&frames[i]))
            return mine.task;
    if (!mine.known &&
        JVM_CALL(jvmti, JVMTI_GetCurrentThread, int, jvm_table, jvm_object *)(jvmti, &thread) == 0)
        mine.thread = tag_of(jvmti, thread);
    mine.known = true;
    return mine.thread;
}

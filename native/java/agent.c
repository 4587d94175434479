/* The agent in a JVM: tells the tracer which line of Java makes each call that changes files.
 *
 * Before: the JVM has loaded it (JAVA_TOOL_OPTIONS=-agentpath:...), and no line of the program has run.
 * After: native methods that may make such calls, of the JDK and of the program's own libraries, are bound to
 * thunks (thunks.S), which tell the Java stack first. So interpreted and compiled code are told alike, and no
 * other method is slower, but for those by which executors take and begin tasks (asked.c). Where no tracer
 * listens, nothing is bound. */
#include "asked.h"
#include "jvm.h"
#include "rivals.h"
#include "thunks.h"
#include "told.h"
#include "words.h"

#include <pthread.h>
#include <string.h>

enum { DEPTH = 60 };

__attribute__((visibility("hidden"))) void *pc_java_codes[PC_JAVA_THUNKS];
extern char pc_java_thunks[];

static jvm_table tools;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned bound;
static _Thread_local bool busy; /* what the agent itself makes Java do is not told */

__attribute__((visibility("hidden"), used)) void pc_java_enter(jvm_table jni, uint64_t limit) {
    struct jvm_frame frames[DEPTH];
    int32_t count = 0;
    if (busy)
        return;
    busy = true;
    if (JVM_CALL(tools, JVMTI_GetStackTrace, int, jvm_table, jvm_object, int32_t, int32_t, struct jvm_frame *,
                 int32_t *)(tools, NULL, 0, DEPTH, frames, &count) == 0 &&
        count > 0) {
        pc_told_here(tools, jni, frames, count, limit);
        pc_told_asked(pc_asked_now(tools, frames, count));
    }
    busy = false;
}

static void on_step(jvm_table jvmti, jvm_table jni, jvm_object thread, jvm_method method, int64_t location) {
    if (busy)
        return;
    busy = true;
    pc_asked_step(jvmti, jni, method);
    busy = false;
}

/* Threads were there before any event of classes. */
static void on_start(jvm_table jvmti, jvm_table jni, jvm_object thread) {
    jvm_object class =
        JVM_CALL(jni, JNI_FindClass, jvm_object, jvm_table, const char *)(jni, "java/lang/Thread");
    if (class)
        pc_asked_class(jvmti, class);
}

static void on_class(jvm_table jvmti, jvm_table jni, jvm_object thread, jvm_object class) {
    pc_asked_class(jvmti, class);
}

static bool begins_with_one_of(const char *text, const char *const *words) {
    for (; *words; words++)
        if (strncmp(text, *words, strlen(*words)) == 0)
            return true;
    return false;
}

/* Whether a method may make a call that changes files or says something. */
static bool is_followed(const char *class, const char *method) {
    static const char *const writers[] = {"Ljava/io/",  "Ljava/nio/", "Lsun/nio/",
                                          "Ljava/net/", "Lsun/net/",  NULL};
    static const char *const jdk[] = {"Ljava/", "Ljavax/", "Ljdk/", "Lsun/", "Lcom/sun/", NULL};
    static const char *const readers[] = {
        "read", "pread", "init", "get",   "stat", "lstat", "fstat",  "access", "poll",  "epoll", "position",
        "size", "seek",  "skip", "avail", "list", "canon", "isOpen", "length", "lseek", "iov",   NULL};
    if (begins_with_one_of(class, jdk) && !begins_with_one_of(class, writers))
        return false;
    return !begins_with_one_of(class, jdk) || !begins_with_one_of(method, readers);
}

static void on_bind(jvm_table jvmti, jvm_table jni, jvm_object thread, jvm_method method, void *code,
                    void **instead) {
    jvm_object class = NULL;
    char *signature = NULL, *name = NULL;
    if (JVM_CALL(jvmti, JVMTI_GetMethodDeclaringClass, int, jvm_table, jvm_method,
                 jvm_object *)(jvmti, method, &class) != 0)
        return;
    JVM_CALL(jvmti, JVMTI_GetClassSignature, int, jvm_table, jvm_object, char **, char **)(jvmti, class,
                                                                                           &signature, NULL);
    JVM_CALL(jvmti, JVMTI_GetMethodName, int, jvm_table, jvm_method, char **, char **,
             char **)(jvmti, method, &name, NULL, NULL);
    pthread_mutex_lock(&lock);
    if (signature && name && bound < PC_JAVA_THUNKS && is_followed(signature, name)) {
        pc_java_codes[bound] = code;
        *instead = pc_java_thunks + PC_JAVA_THUNK_SIZE * bound++;
    }
    pthread_mutex_unlock(&lock);
    pc_give_back(jvmti, signature);
    pc_give_back(jvmti, name);
}

static bool demand(uint32_t wanted) {
    uint32_t capabilities[4] = {wanted};
    return JVM_CALL(tools, JVMTI_AddCapabilities, int, jvm_table, const void *)(tools, capabilities) == 0;
}

static bool enable(int event) {
    return JVM_CALL(tools, JVMTI_SetEventNotificationMode, int, jvm_table, int, int,
                    jvm_object)(tools, JVMTI_ENABLE, event, NULL) == 0;
}

static bool follow(jvm_table machine) {
    void *callbacks[JVMTI_NATIVE_METHOD_BIND - JVMTI_FIRST_EVENT + 1] = {
        [JVMTI_NATIVE_METHOD_BIND - JVMTI_FIRST_EVENT] = (void *)on_bind,
        [JVMTI_VM_INIT - JVMTI_FIRST_EVENT] = (void *)on_start,
        [JVMTI_BREAKPOINT - JVMTI_FIRST_EVENT] = (void *)on_step,
        [JVMTI_CLASS_PREPARE - JVMTI_FIRST_EVENT] = (void *)on_class,
    };
    if (JVM_CALL(machine, JVM_GetEnv, int, jvm_table, jvm_table *, int)(machine, &tools, JVMTI_VERSION) !=
            0 ||
        !demand(1u << CAN_GET_SOURCE_FILE_NAME | 1u << CAN_GET_LINE_NUMBERS |
                1u << CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS) ||
        JVM_CALL(tools, JVMTI_SetEventCallbacks, int, jvm_table, const void *, int)(tools, callbacks,
                                                                                    sizeof callbacks) != 0)
        return false;
    bool heard = !pc_java_has_rivals() &&
                 demand(1u << CAN_TAG_OBJECTS | 1u << CAN_ACCESS_LOCAL_VARIABLES |
                        1u << CAN_GENERATE_BREAKPOINT_EVENTS) &&
                 enable(JVMTI_VM_INIT) && enable(JVMTI_BREAKPOINT) && enable(JVMTI_CLASS_PREPARE);
    if (!heard) /* another agent may hold what only one can have */
        pc_told_note("who gave an executor its tasks is not told: this JVM's debugging interface is in use");
    return enable(JVMTI_NATIVE_METHOD_BIND);
}

/* Never a failure: that would end the JVM. */
__attribute__((visibility("default"))) int Agent_OnLoad(jvm_table machine, char *options, void *reserved) {
    if (!pc_told_start())
        return 0;
    if (!follow(machine))
        pc_told_note("lines of Java are missing: this JVM does not tell when native methods are bound");
    return 0;
}

/* The agent in a JVM: tells the tracer which line of Java makes each call that changes files.
 *
 * Before: the JVM has loaded it (JAVA_TOOL_OPTIONS=-agentpath:...), and no line of the program has run.
 * After: native methods that may make such calls, of the JDK and of the program's own libraries, are bound to
 * thunks (thunks.S), which tell the Java stack first. So interpreted and compiled code are told alike, and no
 * other method is slower. Where no tracer listens, nothing is bound. */
#include "jvm.h"
#include "thunks.h"
#include "told.h"

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
        count > 0)
        pc_told_here(tools, jni, frames, count, limit);
    busy = false;
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
    if (signature)
        JVM_CALL(jvmti, JVMTI_Deallocate, int, jvm_table, void *)(jvmti, signature);
    if (name)
        JVM_CALL(jvmti, JVMTI_Deallocate, int, jvm_table, void *)(jvmti, name);
}

static bool follow(jvm_table machine) {
    uint32_t wanted[4] = {1u << CAN_GET_SOURCE_FILE_NAME | 1u << CAN_GET_LINE_NUMBERS |
                          1u << CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS};
    void *callbacks[JVMTI_NATIVE_METHOD_BIND - JVMTI_FIRST_EVENT + 1] = {0};
    callbacks[JVMTI_NATIVE_METHOD_BIND - JVMTI_FIRST_EVENT] = (void *)on_bind;
    if (JVM_CALL(machine, JVM_GetEnv, int, jvm_table, jvm_table *, int)(machine, &tools, JVMTI_VERSION) !=
            0 ||
        JVM_CALL(tools, JVMTI_AddCapabilities, int, jvm_table, const void *)(tools, wanted) != 0 ||
        JVM_CALL(tools, JVMTI_SetEventCallbacks, int, jvm_table, const void *, int)(tools, callbacks,
                                                                                    sizeof callbacks) != 0)
        return false;
    return JVM_CALL(tools, JVMTI_SetEventNotificationMode, int, jvm_table, int, int,
                    jvm_object)(tools, JVMTI_ENABLE, JVMTI_NATIVE_METHOD_BIND, NULL) == 0;
}

/* Never a failure: that would end the JVM. */
__attribute__((visibility("default"))) int Agent_OnLoad(jvm_table machine, char *options, void *reserved) {
    if (!pc_told_start())
        return 0;
    if (!follow(machine))
        pc_told_note("lines of Java are missing: this JVM does not tell when native methods are bound");
    return 0;
}

/* What the agent needs of the JVM's interfaces: JNI and JVMTI are tables of functions whose places never
 * change, so no JDK is needed to build it. tests/integration/test_java_agent.py compares the places with
 * jvmti.h, where that is there. */
#ifndef POWERCUT_JAVA_JVM_H
#define POWERCUT_JAVA_JVM_H

#include <stdint.h>

typedef void *const *const *jvm_table; /* JNIEnv *, jvmtiEnv *, JavaVM * */
typedef void *jvm_object;
typedef void *jvm_method;

struct jvm_frame {
    jvm_method method;
    int64_t location; /* -1: native */
};

struct jvm_line {
    int64_t start;
    int32_t line;
};

union jvm_value {
    int64_t number;
    jvm_object object;
};

enum jvm_place {
    /* JavaVM */
    JVM_GetEnv = 6,
    /* JNI */
    JNI_FindClass = 6,
    JNI_ExceptionClear = 17,
    JNI_PushLocalFrame = 19,
    JNI_PopLocalFrame = 20,
    JNI_GetObjectClass = 31,
    JNI_GetMethodID = 33,
    JNI_CallObjectMethodA = 36,
    JNI_GetStringUTFChars = 169,
    JNI_ReleaseStringUTFChars = 170,
    /* JVMTI: its numbers count from 1 */
    JVMTI_SetEventNotificationMode = 2 - 1,
    JVMTI_GetCurrentThread = 18 - 1,
    JVMTI_GetLocalObject = 21 - 1,
    JVMTI_SetBreakpoint = 38 - 1,
    JVMTI_Deallocate = 47 - 1,
    JVMTI_GetClassSignature = 48 - 1,
    JVMTI_GetSourceFileName = 50 - 1,
    JVMTI_GetClassMethods = 52 - 1,
    JVMTI_GetMethodName = 64 - 1,
    JVMTI_GetMethodDeclaringClass = 65 - 1,
    JVMTI_GetLineNumberTable = 70 - 1,
    JVMTI_GetStackTrace = 104 - 1,
    JVMTI_GetTag = 106 - 1,
    JVMTI_SetTag = 107 - 1,
    JVMTI_SetEventCallbacks = 122 - 1,
    JVMTI_AddCapabilities = 142 - 1,
};

enum {
    JVMTI_VERSION = 0x30010000, /* 1.0 */
    JVMTI_ENABLE = 1,
    JVMTI_FIRST_EVENT = 50,
    JVMTI_VM_INIT = 50,
    JVMTI_CLASS_PREPARE = 56,
    JVMTI_BREAKPOINT = 62,
    JVMTI_NATIVE_METHOD_BIND = 67,
    CAN_TAG_OBJECTS = 0, /* bits of capabilities */
    CAN_GET_SOURCE_FILE_NAME = 11,
    CAN_GET_LINE_NUMBERS = 12,
    CAN_ACCESS_LOCAL_VARIABLES = 14,
    CAN_GENERATE_BREAKPOINT_EVENTS = 19,
    CAN_GENERATE_NATIVE_METHOD_BIND_EVENTS = 30,
};

#define JVM_CALL(TABLE, PLACE, RETURNS, ...) ((RETURNS(*)(__VA_ARGS__))(*(TABLE))[PLACE])

#endif

/* See words.h. What cannot be told is empty; no Java exception is left behind. */
#include "words.h"

#include <stdio.h>
#include <string.h>

enum { LONGEST = 512 };

void pc_give_back(jvm_table jvmti, const void *memory) {
    if (memory)
        JVM_CALL(jvmti, JVMTI_Deallocate, int, jvm_table, const void *)(jvmti, memory);
}

static int line_of(jvm_table jvmti, const struct jvm_frame *frame) {
    struct jvm_line *lines = NULL;
    int32_t count = 0, found = 0;
    if (frame->location < 0 ||
        JVM_CALL(jvmti, JVMTI_GetLineNumberTable, int, jvm_table, jvm_method, int32_t *,
                 struct jvm_line **)(jvmti, frame->method, &count, &lines) != 0)
        return 0;
    int64_t nearest = -1;
    for (int32_t i = 0; i < count; i++) {
        if (lines[i].start <= frame->location && lines[i].start > nearest) {
            nearest = lines[i].start;
            found = lines[i].line;
        }
    }
    pc_give_back(jvmti, lines);
    return found;
}

/* The result of a method without arguments that gives an object, or NULL. */
static jvm_object ask(jvm_table jni, jvm_object object, const char *method, const char *signature) {
    if (!object)
        return NULL;
    jvm_object class = JVM_CALL(jni, JNI_GetObjectClass, jvm_object, jvm_table, jvm_object)(jni, object);
    jvm_method id = JVM_CALL(jni, JNI_GetMethodID, jvm_method, jvm_table, jvm_object, const char *,
                             const char *)(jni, class, method, signature);
    union jvm_value none = {0};
    jvm_object result = NULL;
    if (id)
        result = JVM_CALL(jni, JNI_CallObjectMethodA, jvm_object, jvm_table, jvm_object, jvm_method,
                          const union jvm_value *)(jni, object, id, &none);
    JVM_CALL(jni, JNI_ExceptionClear, void, jvm_table)(jni);
    return id ? result : NULL;
}

/* Where a class was loaded from: a folder or a jar, as a URL. */
static void origin_of(jvm_table jni, jvm_object class, char *out, size_t room) {
    out[0] = '\0';
    if (JVM_CALL(jni, JNI_PushLocalFrame, int, jvm_table, int)(jni, 16) != 0)
        return;
    jvm_object domain = ask(jni, class, "getProtectionDomain", "()Ljava/security/ProtectionDomain;");
    jvm_object source = ask(jni, domain, "getCodeSource", "()Ljava/security/CodeSource;");
    jvm_object place = ask(jni, source, "getLocation", "()Ljava/net/URL;");
    jvm_object text = ask(jni, place, "toString", "()Ljava/lang/String;");
    if (text) {
        const char *bytes = JVM_CALL(jni, JNI_GetStringUTFChars, const char *, jvm_table, jvm_object,
                                     void *)(jni, text, NULL);
        if (bytes) {
            snprintf(out, room, "%s", bytes);
            JVM_CALL(jni, JNI_ReleaseStringUTFChars, void, jvm_table, jvm_object, const char *)(jni, text,
                                                                                                bytes);
        }
    }
    JVM_CALL(jni, JNI_ExceptionClear, void, jvm_table)(jni);
    JVM_CALL(jni, JNI_PopLocalFrame, jvm_object, jvm_table, jvm_object)(jni, NULL);
}

static bool is_of_the_jdk(const char *signature) {
    static const char *const own[] = {"Ljava/", "Ljavax/", "Ljdk/", "Lsun/", "Lcom/sun/"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp(signature, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

/* "Lcom/acme/Store$Row;" as "com.acme.Store$Row"; where its package ends in `signature`. */
static size_t class_name(const char *signature, char *out, size_t room) {
    size_t package = 0, used = 0;
    for (const char *at = signature + (signature[0] == 'L'); *at && *at != ';' && used + 1 < room; at++) {
        if (*at == '/')
            package = used + 1;
        out[used++] = *at == '/' ? '.' : *at;
    }
    out[used] = '\0';
    return package;
}

size_t pc_words_of(jvm_table jvmti, jvm_table jni, const struct jvm_frame *frame, char *out, size_t room) {
    jvm_object class = NULL;
    char *method = NULL, *signature = NULL, *file = NULL, name[LONGEST], origin[LONGEST] = "";
    JVM_CALL(jvmti, JVMTI_GetMethodName, int, jvm_table, jvm_method, char **, char **,
             char **)(jvmti, frame->method, &method, NULL, NULL);
    if (JVM_CALL(jvmti, JVMTI_GetMethodDeclaringClass, int, jvm_table, jvm_method,
                 jvm_object *)(jvmti, frame->method, &class) == 0) {
        JVM_CALL(jvmti, JVMTI_GetClassSignature, int, jvm_table, jvm_object, char **,
                 char **)(jvmti, class, &signature, NULL);
        JVM_CALL(jvmti, JVMTI_GetSourceFileName, int, jvm_table, jvm_object, char **)(jvmti, class, &file);
        if (signature && !is_of_the_jdk(signature))
            origin_of(jni, class, origin, sizeof origin);
    }
    size_t package = class_name(signature ? signature : "?", name, sizeof name);
    const char *folder = signature && signature[0] == 'L' ? signature + 1 : "";
    int length = snprintf(out, room, "%s.%s\t%.*s%s\t%d\t%s\n", name, method ? method : "?",
                          file ? (int)package : 0, folder, file ? file : "", line_of(jvmti, frame), origin);
    pc_give_back(jvmti, method);
    pc_give_back(jvmti, signature);
    pc_give_back(jvmti, file);
    return length > 0 && (size_t)length < room ? (size_t)length : 0;
}

bool pc_is_of_the_jdk(jvm_table jvmti, const struct jvm_frame *frame) {
    jvm_object class = NULL;
    char *signature = NULL;
    if (JVM_CALL(jvmti, JVMTI_GetMethodDeclaringClass, int, jvm_table, jvm_method,
                 jvm_object *)(jvmti, frame->method, &class) == 0)
        JVM_CALL(jvmti, JVMTI_GetClassSignature, int, jvm_table, jvm_object, char **,
                 char **)(jvmti, class, &signature, NULL);
    bool found = signature && is_of_the_jdk(signature);
    pc_give_back(jvmti, signature);
    return found;
}

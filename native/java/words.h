/* A frame of Java in words. */
#ifndef POWERCUT_JAVA_WORDS_H
#define POWERCUT_JAVA_WORDS_H

#include "jvm.h"

#include <stdbool.h>
#include <stddef.h>

/* Writes "class.method TAB file below its package TAB line TAB where its class was loaded from NEWLINE"; how
 * many bytes, 0 if there is no room. */
size_t pc_words_of(jvm_table jvmti, jvm_table jni, const struct jvm_frame *frame, char *out, size_t room);

bool pc_is_of_the_jdk(jvm_table jvmti, const struct jvm_frame *frame);

/* Memory that a function of JVMTI gave; nothing for NULL. */
void pc_give_back(jvm_table jvmti, const void *memory);

#endif

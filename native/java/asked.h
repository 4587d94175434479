/* Who asked for what a thread of Java does: who started it, or who gave its pool the task. */
#ifndef POWERCUT_JAVA_ASKED_H
#define POWERCUT_JAVA_ASKED_H

#include "jvm.h"

#include <stdbool.h>

/* A class was loaded. Where it is Thread, or one through which tasks are given to pools, its calls are
 * followed from now on. */
void pc_asked_class(jvm_table jvmti, jvm_object class);

/* This thread is about to run the first instruction of a followed method. */
void pc_asked_step(jvm_table jvmti, jvm_table jni, jvm_method method);

/* The stack that asked for what this thread does (pc_told_number), 0: none is known. */
uint64_t pc_asked_now(jvm_table jvmti, const struct jvm_frame *frames, int count);

#endif

/* What one JVM tells the tracer (told_format.h): stacks by numbers, and the slots of its threads. */
#ifndef POWERCUT_JAVA_TOLD_H
#define POWERCUT_JAVA_TOLD_H

#include "jvm.h"

#include <stdbool.h>

/* Whether a tracer listens. To be asked first. */
bool pc_told_start(void);
void pc_told_note(const char *text);

/* This thread runs the stack of these frames, as long as its stack pointer stays below `limit`. */
void pc_told_here(jvm_table jvmti, jvm_table jni, const struct jvm_frame *frames, int count, uint64_t limit);

/* The stack that asked for what this thread does; 0: none. */
void pc_told_asked(uint64_t number);

/* The number of a stack, which is told if it is new; 0: there is no room. */
uint64_t pc_told_number(jvm_table jvmti, jvm_table jni, const struct jvm_frame *frames, int count);

#endif

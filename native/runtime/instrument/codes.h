/* What an entry of entries.S is about, in one number: an operation of powercut.h, the way its size is told,
 * and the size or width of an element. Also read by the assembler. */
#ifndef POWERCUT_CODES_H
#define POWERCUT_CODES_H

#define AT_SIZED  0 /* the size is in the number */
#define AT_FENCE  1 /* no address */
#define AT_LOCKED 2 /* a fence, and then a store */
#define AT_COPY   3 /* of %rdx bytes */
#define AT_ZERO   4 /* of %rsi bytes */
#define AT_STRING 5 /* as long as the string at %rsi */
#define AT_REPEAT 6 /* of %rcx elements */

#define AT_CODE(operation, way, size) ((operation) | (way) << 8 | (size) << 16)

/* As in powercut.h, which an assembler cannot read; record.c compares them. */
#define AT_WRITE    1
#define AT_WRITE_NT 2
#define AT_FLUSH    3
#define AT_A_FENCE  4

#endif

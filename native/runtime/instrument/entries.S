/* Where the code that `powercut cc` inserts calls in: pc_at_store_8 and the like.
 *
 * Before: %rdi holds the address that an instruction is about to touch, and its own value is on the stack of the
 * caller, which stands below the red zone. After: every register but %rdi, and the flags, are as they were.
 *
 * First, in a few nanoseconds: is the address in what is watched at all? Then a record is made by code that leaves
 * vector registers alone (record.c). Only what that cannot do (a place seen for the first time, a full buffer) saves
 * them all and calls the rest. */
#include "codes.h"

    .text

/* An address outside of what is watched costs this much. */
    .macro AT name, operation, way, size
    .globl pc_at_\name
    .type pc_at_\name, @function
    .p2align 4
pc_at_\name:
    endbr64
    pushq %rax
    lahf
    seto %al
    .if \way == AT_FENCE || \way == AT_LOCKED
    cmpq $0, 8+pc_watched(%rip)
    jne 1f
    .else
    subq pc_watched(%rip), %rdi
    cmpq 8+pc_watched(%rip), %rdi
    jb 1f
    .endif
    addb $0x7f, %al
    sahf
    popq %rax
    ret
1:
    .if \way != AT_FENCE && \way != AT_LOCKED
    addq pc_watched(%rip), %rdi
    .endif
    pushq $AT_CODE(\operation, \way, \size)
    jmp record
    .size pc_at_\name, . - pc_at_\name
    .endm

    .irp size, 1, 2, 4, 8, 10, 16, 32, 64
    AT store_\size, AT_WRITE, AT_SIZED, \size
    .endr
    .irp size, 4, 8, 16, 32, 64
    AT nt_\size, AT_WRITE_NT, AT_SIZED, \size
    .endr
    .irp size, 1, 2, 4, 8, 16
    AT locked_\size, AT_WRITE, AT_LOCKED, \size
    .endr
    .irp size, 1, 2, 4, 8
    AT repeat_\size, AT_WRITE, AT_REPEAT, \size
    .endr
    AT flush, AT_FLUSH, AT_SIZED, 1
    AT fence, AT_A_FENCE, AT_FENCE, 0
    AT copy, AT_WRITE, AT_COPY, 0
    AT zero, AT_WRITE, AT_ZERO, 0
    AT string, AT_WRITE, AT_STRING, 0

/* The flags are in %ax; the stack holds the code, %rax and the address in the caller. The rest of struct moment: */
    .type record, @function
record:
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %rax
    pushq %rdi
    pushq %rbp
    movq %rsp, %rbp
    andq $-16, %rsp
    leaq 8(%rbp), %rdi
    call pc_record_moment
    testl %eax, %eax
    jnz 2f
1:
    movq %rbp, %rsp
    popq %rbp
    leaq 8(%rsp), %rsp
    popq %rax
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rsi
    popq %rdx
    popq %rcx
    leaq 8(%rsp), %rsp
    addb $0x7f, %al
    sahf
    popq %rax
    ret

/* With all that the processor has of vector state, masks and x87 saved. */
2:
    movl pc_state_size(%rip), %ecx
    subq %rcx, %rsp
    andq $-64, %rsp
    xorl %eax, %eax
    .irp word, 0, 8, 16, 24, 32, 40, 48, 56
    movq %rax, 512+\word(%rsp)
    .endr
    cmpl $0, pc_has_xsave(%rip)
    je 3f
    movl $0xe7, %eax
    xorl %edx, %edx
    xsave64 (%rsp)
    leaq 8(%rbp), %rdi
    call pc_record_moment_slowly
    movl $0xe7, %eax
    xorl %edx, %edx
    xrstor64 (%rsp)
    jmp 1b
3:
    fxsave64 (%rsp)
    leaq 8(%rbp), %rdi
    call pc_record_moment_slowly
    fxrstor64 (%rsp)
    jmp 1b
    .size record, . - record

    .section .note.GNU-stack, "", @progbits

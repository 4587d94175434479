/* What native methods are bound to instead of their code: each thunk says its number, lets the agent tell the stack, and
 * goes on to the code as if it had been called by whoever called the thunk.
 *
 * Before: any call of the C calling convention. After: the same, with all registers that may hold arguments. */
#include "thunks.h"

    .text
    .altmacro
    .macro THUNK number
    .p2align 4
    endbr64
    pushq $\number
    jmp pc_java_common
    .endm

    .globl pc_java_thunks
    .hidden pc_java_thunks
    .type pc_java_thunks, @object
    .p2align 4
pc_java_thunks:
    .set at, 0
    .rept PC_JAVA_THUNKS
    THUNK %at
    .set at, at + 1
    .endr

    .type pc_java_common, @function
    .p2align 4
pc_java_common:
    /* 0: number, 8: where the caller goes on, 16: its stack */
    pushq %rbp
    movq %rsp, %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    subq $128, %rsp
    andq $-16, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    leaq 24(%rbp), %rsi
    call pc_java_enter
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq 8(%rbp), %rax
    leaq pc_java_codes(%rip), %r11
    movq (%r11, %rax, 8), %r11
    movq -8(%rbp), %rdi
    movq -16(%rbp), %rsi
    movq -24(%rbp), %rdx
    movq -32(%rbp), %rcx
    movq -40(%rbp), %r8
    movq -48(%rbp), %r9
    movq %rbp, %rsp
    popq %rbp
    addq $8, %rsp
    jmp *%r11

    .section .note.GNU-stack, "", @progbits

/* A program that dies of a signal leaves a note in the log's folder: the signal, the address, and the calls
 * that led there. The detector compares it with that of the next time. */
#define _GNU_SOURCE
#include "faults.h"

#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { FRAMES_MOST = 64, OWN_STACK = 64 << 10 };

static int note = -1;

static void on_fault(int number, siginfo_t *about, void *context) {
    const ucontext_t *at = context;
    void *frames[FRAMES_MOST];
    char text[64];
    int count = backtrace(frames, FRAMES_MOST);
    int length = snprintf(text, sizeof text, "signal %d %llx\n", number,
                          (unsigned long long)(uintptr_t)about->si_addr);
    bool written = ftruncate(note, 0) == 0 && pwrite(note, text, (size_t)length, 0) == length;
    off_t end = length;
    bool inside = false; /* the frames of this function and of the kernel's come first */
    for (int i = 0; i < count && written; i++) {
        inside |= (greg_t)(uintptr_t)frames[i] == at->uc_mcontext.gregs[REG_RIP];
        length = inside
                     ? snprintf(text, sizeof text, "frame %llx\n", (unsigned long long)(uintptr_t)frames[i])
                     : 0;
        written = pwrite(note, text, (size_t)length, end) == length;
        end += length;
    }
    raise(number); /* its action is the default one again */
}

void pc_faults_note(int file) {
    static const int deadly[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    static char own_stack[OWN_STACK]; /* for a stack that overflows */
    stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_RESETHAND | SA_ONSTACK};
    void *warm[1];
    note = file;
    backtrace(warm, 1); /* loads what it needs: in a handler it must not */
    sigaltstack(&stack, NULL);
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        sigaction(deadly[i], &action, NULL);
}

/* See telling.h. What is said is the program's, hence untrusted: only printable text becomes a note. */
#define _GNU_SOURCE
#include "telling.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "remote/remote.h"
#include "stacks/capture.h"
#include "told_format.h"

enum { HEAD = 8, LONGEST_NOTE = 300, MOST_FOLLOWED = 1000 };

static void note(struct pc_recorder *recorder, const unsigned char *text, size_t length) {
    char words[LONGEST_NOTE + 1];
    size_t used = 0;
    for (size_t i = 0; i < length && used < LONGEST_NOTE; i++)
        words[used++] = text[i] >= ' ' && text[i] < 127 ? (char)text[i] : '?';
    words[used] = '\0';
    pc_note(recorder, NULL, "%s", words);
}

static void followed(struct pc_recorder *recorder, const struct pc_thread *thread, const char *text,
                     size_t length) {
    static unsigned count;
    char key[32];
    if (count++ >= MOST_FOLLOWED)
        return;
    snprintf(key, sizeof(key), "runtime.%d", (int)thread->tgid);
    pc_meta(recorder, key, text, length < LONGEST_NOTE ? length : LONGEST_NOTE);
}

/* A JVM says on standard error what it was told by the environment, where nobody but us told it anything. */
static bool is_said_of_us(const struct pc_thread *thread, uint64_t address, uint64_t length) {
    static const char before[] = "Picked up JAVA_TOOL_OPTIONS: -agentpath:",
                      behind[] = "/libpowercut-java.so\n";
    size_t first = sizeof(before) - 1, last = sizeof(behind) - 1;
    char text[PATH_MAX + 64];
    if (length < first + last || length > sizeof(text) || pc_peek(thread, address, text, length) != length)
        return false;
    return memcmp(text, before, first) == 0 && memcmp(text + length - last, behind, last) == 0;
}

bool pc_telling_entry(struct pc_recorder *recorder, struct pc_thread *thread, int64_t *result) {
    static unsigned char message[PC_TOLD_MOST];
    const struct user_regs_struct *regs = &thread->regs;
    if (regs->orig_rax != SYS_write)
        return false;
    if (regs->rdi == STDERR_FILENO && is_said_of_us(thread, regs->rsi, regs->rdx)) {
        *result = (int64_t)regs->rdx;
        return true;
    }
    if ((int)regs->rdi != PC_TOLD_FD)
        return false;
    *result = -EBADF;
    if (recorder->stacks == NULL || recorder->grind != NULL)
        return true;
    size_t length = regs->rdx < sizeof(message) ? regs->rdx : sizeof(message);
    length = pc_peek(thread, regs->rsi, message, length);
    if (length <= HEAD || memcmp(message, PC_TOLD_MAGIC, HEAD - 1) != 0)
        return true;
    *result = (int64_t)regs->rdx;
    if (message[HEAD - 1] == 'N')
        note(recorder, message + HEAD, length - HEAD);
    else if (message[HEAD - 1] == 'H')
        followed(recorder, thread, (const char *)message + HEAD, length - HEAD);
    else
        pc_stacks_told(recorder->stacks, thread->tgid, thread->tid, regs->rsi, message, length);
    return true;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Valgrind's core does otherwise than we want, changed at link time (ld --wrap=SYMBOL).
 *
 * After: the tool needs neither the `valgrind` launcher nor the files of an installed Valgrind, costs nothing
 * for symbols that nobody here reads, leaves no file behind, hands programs it cannot run to the kernel, and
 * dies of the signal that the program died of.
 */
#include "core.h"

#include "program.h"

#define ELF_MAGIC   "\177ELF"
#define ELF_64      2
#define ELF_AMD64   62
#define ELF_CLASS   4
#define ELF_MACHINE 18

HChar *__real_vgPlain_getenv(const HChar *name);
HChar *__wrap_vgPlain_getenv(const HChar *name);
Bool __real_vgPlain_should_we_trace_this_child(const HChar *program, const HChar **arguments);
Bool __wrap_vgPlain_should_we_trace_this_child(const HChar *program, const HChar **arguments);
ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_sk_file_v, Int use_fd);
void __wrap_vgPlain_make_coredump(ThreadId tid, const void *info, ULong max_size);
void __real_vgPlain_kill_self(Int signal);
void __wrap_vgPlain_kill_self(Int signal);
extern SysRes VG_(do_syscall)(UWord number, UWord, UWord, UWord, UWord, UWord, UWord, UWord, UWord);

/* The tool is its own launcher, for the programs that the program executes. Nothing may be allocated yet. */
HChar *__wrap_vgPlain_getenv(const HChar *name) {
    static HChar self[4096];
    if (VG_(strcmp)(name, "VALGRIND_LAUNCHER") != 0)
        return __real_vgPlain_getenv(name);
    pc_program_find(VG_(client_envp)); /* Valgrind has not looked at its arguments yet */
    SSizeT length = VG_(readlink)("/proc/self/exe", self, sizeof(self) - 1);
    self[length < 0 ? 0 : length] = '\0';
    return self;
}

/* Symbols and lines are looked up later, by powercut; reading them here takes most of the start. */
ULong __wrap_vgPlain_di_notify_mmap(Addr address, Bool allow_sk_file_v, Int use_fd) {
    return 0;
}

/* It would be written into the current folder, which may be the data folder. */
void __wrap_vgPlain_make_coredump(ThreadId tid, const void *info, ULong max_size) {
}

static void call(UWord number, UWord a, UWord b, UWord c, UWord d) {
    (void)VG_(do_syscall)(number, a, b, c, d, 0, 0, 0, 0);
}

/* Valgrind sends the signal to the process. If another thread is still on its way out, it may be the one that
 * gets it, and this one goes on, to complain that it lives, and exits: the program would have failed, not
 * crashed. */
void __wrap_vgPlain_kill_self(Int signal) {
    const ULong by_default[4] = {0}, set = 1ull << (signal - 1);
    call(__NR_rt_sigaction, (UWord)signal, (UWord)by_default, 0, sizeof(set));
    call(__NR_rt_sigprocmask, VKI_SIG_UNBLOCK, (UWord)&set, 0, sizeof(set));
    call(__NR_tgkill, (UWord)VG_(getpid)(), (UWord)VG_(gettid)(), (UWord)signal, 0);
    __real_vgPlain_kill_self(signal);
}

static Bool is_foreign(const HChar *program) {
    UChar head[20] = {0};
    SysRes file = VG_(open)(program, VKI_O_RDONLY, 0);
    if (sr_isError(file))
        return False;
    Int got = VG_(read)((Int)sr_Res(file), head, sizeof(head));
    VG_(close)((Int)sr_Res(file));
    if (got != sizeof(head) || VG_(memcmp)(head, ELF_MAGIC, 4) != 0)
        return False; /* a script: its interpreter comes this way again, or is found by Valgrind */
    return head[ELF_CLASS] != ELF_64 || head[ELF_MACHINE] != ELF_AMD64 || head[ELF_MACHINE + 1] != 0;
}

/* Programs of other machines run without us; the system-call tracer says so. */
Bool __wrap_vgPlain_should_we_trace_this_child(const HChar *program, const HChar **arguments) {
    if (!__real_vgPlain_should_we_trace_this_child(program, arguments) || is_foreign(program))
        return False;
    pc_program_hand_over(program, arguments != NULL ? arguments[0] : NULL);
    return True;
}

#define KEEP_OVER_EXEC 0

Int pc_core_keep(Int descriptor, const HChar *option) {
    HChar number[16];
    Int moved = VG_(safe_fd)(descriptor);
    if (moved < 0)
        return -1;
    VG_(fcntl)(moved, VKI_F_SETFD, KEEP_OVER_EXEC);
    VG_(snprintf)(number, sizeof(number), "%d", moved);
    pc_option_set(option, number);
    return moved;
}

static Int messages = -1;

Bool pc_core_option(const HChar *argument) {
    return VG_INT_CLO(argument, "--messages", messages);
}

/* Valgrind's own --log-file leaves a second descriptor of the file open in the program. */
void pc_core_redirect_messages(void) {
    Int before = VG_(log_output_sink).fd, kept = messages < 0 ? -1 : pc_core_keep(messages, "--messages=");
    if (kept < 0)
        return;
    VG_(log_output_sink).fd = kept;
    if (before > 2)
        VG_(close)(before); /* it would keep the program's standard error open */
}

/* Cuts what Valgrind put before the program's own LD_PRELOAD; False if nothing is left. */
static Bool cut_preload(HChar *variable) {
    HChar *start = variable + VG_(strlen)("LD_PRELOAD="), *own = start;
    for (HChar *at = start; *at != '\0';) {
        HChar *end = VG_(strchr)(at, ':');
        SizeT length = end != NULL ? (SizeT)(end - at) : VG_(strlen)(at);
        const HChar *found = VG_(strstr)(at, "/vgpreload_");
        HChar *next = end != NULL ? end + 1 : at + length;
        if (found == NULL || found >= at + length)
            break;
        own = at = next;
    }
    VG_(memmove)(start, own, VG_(strlen)(own) + 1);
    return *start != '\0';
}

void pc_core_clean_environment(void) {
    HChar **kept = VG_(client_envp), **at = VG_(client_envp);
    for (; *at != NULL; at++) {
        Bool preload = VG_(strncmp)(*at, "LD_PRELOAD=", 11) == 0;
        Bool ours = VG_(strncmp)(*at, "VALGRIND_LIB=", 13) == 0 || (preload && !cut_preload(*at));
        if (!ours)
            *kept++ = *at;
    }
    /* What the kernel tells stands right behind, in pairs of words up to one that starts with 0. */
    SizeT removed = (SizeT)(at - kept);
    *kept = NULL;
    if (removed == 0)
        return;
    const UWord *from = (const UWord *)at + 1, *end = from;
    while (*end != 0)
        end += 2;
    VG_(memmove)(kept + 1, from, (SizeT)(end + 2 - from) * sizeof(*from));
    VG_(client_auxv) -= removed;
}

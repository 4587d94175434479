/* Before: the first process is seized and about to run. After pc_tracer_run: it and all its descendants have
 * ended, and the trace holds what they did.
 *
 * Each stop of a thread is answered at once, with one exception: a thread at the entry of a call that changes
 * the data folder stays stopped while another is in such a call (turns.h). */
#define _GNU_SOURCE
#include "tracer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "calls/calls.h"
#include "shared_cpu.h"
#include "stacks/capture.h"
#include "telling.h"
#include "threads.h"
#include "turns.h"
#include "valgrind/processes.h"

enum {
    TICK = 50,     /* milliseconds between looks at what may have waited too long */
    LINGER = 2000, /* milliseconds that background processes may outlive the first one */
    PATIENCE_NEW = 200,
    MOST_COMMAND = 512, /* bytes of a command line */
};

struct tracer {
    struct pc_recorder *recorder;
    struct pc_threads threads;
    struct pc_turns turns;
    struct pc_shared_cpu shared_cpu;
    struct pc_run run;
    pid_t first;
    uint64_t first_ended; /* milliseconds, 0: it has not */
    unsigned newborn;     /* threads in state PC_NEW */
    bool ticking;
    bool killing;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number) {
    interrupted = 1;
}

static void on_tick(int number) {
}

int pc_tracer_seize(pid_t pid) {
    long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE |
                   PTRACE_O_TRACEEXEC | PTRACE_O_TRACEEXIT | PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    return ptrace(PTRACE_SEIZE, pid, 0, options) == 0 ? 0 : errno;
}

/* A thread that was killed meanwhile cannot be resumed; its end will be reported. */
static void resume(const struct pc_thread *thread, enum __ptrace_request request, int signal_number) {
    (void)ptrace(request, thread->tid, 0, signal_number);
}

/* Signals that interrupt waitpid, which has no timeout. The timer repeats, so none is ever missed for long.
 */
static void set_ticking(struct tracer *tracer, bool on) {
    struct itimerval interval = {0};
    if (tracer->ticking == on)
        return;
    if (on)
        interval.it_value.tv_usec = interval.it_interval.tv_usec = TICK * 1000;
    setitimer(ITIMER_REAL, &interval, NULL);
    tracer->ticking = on;
}

/* Lets the thread go on behind its call with this result, as if it had done the call. */
static void answer(struct pc_thread *thread, int64_t result) {
    struct user_regs_struct regs = thread->regs;
    regs.orig_rax = (unsigned long long)-1; /* no call at all */
    regs.rax = (unsigned long long)result;
    (void)ptrace(PTRACE_SETREGS, thread->tid, 0, &regs);
    pc_call_drop(thread);
    resume(thread, PTRACE_CONT, 0);
}

/* Whether a call that may have its turn now could be done in the thread's place. */
static bool emulated(struct tracer *tracer, struct pc_thread *thread) {
    if (tracer->turns.holder != NULL || thread->call.kind->emulate == NULL)
        return false;
    return thread->call.kind->emulate(tracer->recorder, thread);
}

static void let_in(struct pc_thread *thread) {
    thread->state = PC_IN_CALL;
    resume(thread, PTRACE_SYSCALL, 0);
}

/* Before an event: stores that were made before it come first. */
static void close_runs(const struct tracer *tracer) {
    if (tracer->recorder->grind != NULL)
        pc_grind_close_runs(tracer->recorder->grind);
}

/* Deals with calls of Valgrind, where it runs the program; false: this is one of the program's. */
static bool is_valgrinds(struct tracer *tracer, struct pc_thread *thread) {
    int64_t result;
    if (tracer->recorder->grind == NULL)
        return false;
    switch (pc_grind_entry(tracer->recorder->grind, thread, &result)) {
    case PC_GRIND_ANSWERED:
        answer(thread, result);
        return true;
    case PC_GRIND_OWN:
        resume(thread, PTRACE_CONT, 0);
        return true;
    default:
        return false;
    }
}

/* A thread at the entry of a filtered call. */
static void on_entry(struct tracer *tracer, struct pc_thread *thread) {
    int64_t result;
    if (is_valgrinds(tracer, thread))
        return;
    if (pc_telling_entry(tracer->recorder, thread, &result)) {
        answer(thread, result);
        return;
    }
    enum pc_verdict verdict = pc_call_enter(tracer->recorder, thread);
    if (verdict != PC_SKIP)
        close_runs(tracer); /* now, not at the end: a sync does not cover what is stored meanwhile */
    if (verdict == PC_WATCH) {
        let_in(thread);
        return;
    }
    if (verdict == PC_TURN) {
        if (emulated(tracer, thread)) {
            answer(thread, thread->call.result);
            return;
        }
        if (pc_turns_take(&tracer->turns, thread)) {
            let_in(thread);
            return;
        }
        /* What was looked up may have changed when the turn comes: it will be asked again. */
        pc_call_drop(thread);
        thread->state = PC_QUEUED;
        pc_turns_wait(&tracer->turns, thread);
        set_ticking(tracer, true);
        return;
    }
    if (verdict == PC_AT_ONCE || verdict == PC_REFUSE)
        pc_call_leave(tracer->recorder, thread, 0);
    if (verdict == PC_REFUSE) {
        answer(thread, -ENOSYS);
        return;
    }
    pc_call_drop(thread);
    resume(thread, PTRACE_CONT, 0);
}

/* Lets in who waits, until one of them has the turn. */
static void next_turn(struct tracer *tracer) {
    struct pc_thread *thread;
    while ((thread = pc_turns_pop(&tracer->turns)) != NULL) {
        thread->state = PC_RUNNING;
        on_entry(tracer, thread);
    }
}

/* Takes a thread out of whatever it is in: a call, the queue, or waiting for its parent's word. */
static void detach_state(struct tracer *tracer, struct pc_thread *thread) {
    if (thread->state == PC_QUEUED)
        pc_turns_leave(&tracer->turns, thread);
    if (thread->state == PC_NEW)
        tracer->newborn--;
    pc_call_drop(thread);
    pc_turns_release(&tracer->turns, thread);
    thread->state = PC_RUNNING;
}

/* A call has ended, or its thread is about to. */
static void finish_call(struct tracer *tracer, struct pc_thread *thread) {
    if (thread->state == PC_IN_CALL) {
        errno = 0;
        long result = ptrace(PTRACE_PEEKUSER, thread->tid, offsetof(struct user_regs_struct, rax), 0);
        if (errno == 0) {
            pc_call_leave(tracer->recorder, thread, result);
            if (thread->call.kind != NULL && thread->call.result != result) /* it was done after all */
                (void)ptrace(PTRACE_POKEUSER, thread->tid, offsetof(struct user_regs_struct, rax),
                             thread->call.result);
        }
    }
    detach_state(tracer, thread);
    resume(thread, PTRACE_CONT, 0);
    next_turn(tracer);
}

static void resume_newborn(struct tracer *tracer, struct pc_thread *thread) {
    if (thread->state != PC_NEW)
        return;
    thread->state = PC_RUNNING;
    tracer->newborn--;
    resume(thread, PTRACE_CONT, 0);
}

static void on_fork(struct tracer *tracer, struct pc_thread *parent, int kind) {
    unsigned long message = 0;
    if (ptrace(PTRACE_GETEVENTMSG, parent->tid, 0, &message) != 0)
        return;
    pid_t tid = (pid_t)message;
    pc_shared_cpu_started(&tracer->shared_cpu, parent->tid, tid);
    bool is_thread = kind == PTRACE_EVENT_CLONE && syscall(SYS_tgkill, parent->tgid, tid, 0) == 0;
    pid_t tgid = is_thread ? parent->tgid : tid;
    close_runs(tracer);
    struct pc_event event = pc_event_of(tracer->recorder, parent, PC_FORK);
    event.extra = (uint64_t)tid;
    event.flags = is_thread ? PC_FLAG_THREAD : 0;
    pc_emit(tracer->recorder, &event);
    if (!is_thread && tracer->recorder->stacks != NULL)
        pc_stacks_fork(tracer->recorder->stacks, parent->tgid, parent->tid, tid);
    if (!is_thread && tracer->recorder->grind != NULL)
        pc_grind_fork(tracer->recorder->grind, parent->tgid, tid);
    struct pc_thread *child = pc_threads_find(&tracer->threads, tid);
    if (child == NULL)
        child = pc_threads_add(&tracer->threads, tid, tgid);
    if (child == NULL)
        return;
    child->tgid = tgid;
    resume_newborn(tracer, child);
}

/* Calls of 32-bit programs have other numbers, which the filter lets pass. */
static void check_abi(struct tracer *tracer, struct pc_thread *thread, const char *program) {
    char link[64];
    unsigned char ident[EI_NIDENT] = {0};
    snprintf(link, sizeof(link), "/proc/%d/exe", thread->tgid);
    int file = open(link, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    if (read(file, ident, sizeof(ident)) == (ssize_t)sizeof(ident) && ident[EI_CLASS] == ELFCLASS32)
        pc_note(tracer->recorder, thread, "%s is a 32-bit program; its calls are not recorded", program);
    close(file);
}

/* The command line of a process, as far as it goes into `line`. */
static size_t command_line(const struct pc_thread *thread, char *line, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", thread->tgid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, line, size);
    close(file);
    return length < 0 ? 0 : (size_t)length;
}

static void on_exec(struct tracer *tracer, struct pc_thread *thread) {
    char link[64], program[PATH_MAX];
    unsigned long former = 0;
    /* A thread that was not the leader takes over the leader's id; its own is gone. */
    if (ptrace(PTRACE_GETEVENTMSG, thread->tid, 0, &former) != 0)
        former = (unsigned long)thread->tid;
    pc_shared_cpu_executes(&tracer->shared_cpu, (pid_t)former, thread->tid);
    if ((pid_t)former != thread->tid) {
        struct pc_thread *old = pc_threads_find(&tracer->threads, (pid_t)former);
        if (old != NULL) {
            detach_state(tracer, old);
            pc_threads_remove(&tracer->threads, old);
        }
    }
    detach_state(tracer, thread);
    if (thread->pidfd >= 0)
        close(thread->pidfd);
    thread->pidfd = -1;
    if (tracer->recorder->stacks != NULL)
        pc_stacks_exec(tracer->recorder->stacks, thread->tgid);
    snprintf(link, sizeof(link), "/proc/%d/exe", thread->tgid);
    ssize_t length = readlink(link, program, sizeof(program) - 1);
    program[length < 0 ? 0 : length] = '\0';
    close_runs(tracer);
    if (tracer->recorder->grind != NULL)
        pc_grind_exec(tracer->recorder->grind, thread->tgid, program, sizeof(program));
    struct pc_event event = pc_event_of(tracer->recorder, thread, PC_EXEC);
    event.path = length < 0 ? 0 : pc_name(tracer->recorder, program);
    if (tracer->recorder->grind == NULL) { /* else it is Valgrind's */
        char line[MOST_COMMAND];
        event.length = command_line(thread, line, sizeof(line));
        event.data = event.length == 0 ? 0 : pc_writer_blob(tracer->recorder->writer, line, event.length);
    }
    pc_emit(tracer->recorder, &event);
    check_abi(tracer, thread, program);
    resume(thread, PTRACE_CONT, 0);
    next_turn(tracer);
}

/* A thread is gone. The leader's end is reported last, so it is the end of the process. */
static void on_end(struct tracer *tracer, struct pc_thread *thread, int status) {
    pc_shared_cpu_gone(&tracer->shared_cpu, thread->tid);
    detach_state(tracer, thread);
    if (thread->tid == thread->tgid) {
        close_runs(tracer);
        if (tracer->recorder->grind != NULL)
            pc_grind_gone(tracer->recorder->grind, thread->tgid);
        struct pc_event event = pc_event_of(tracer->recorder, thread, PC_EXIT);
        event.extra = (unsigned)status;
        pc_emit(tracer->recorder, &event);
        if (tracer->recorder->stacks != NULL)
            pc_stacks_gone(tracer->recorder->stacks, thread->tgid);
    }
    if (thread->tid == tracer->first) {
        tracer->run.status = status;
        tracer->first_ended = pc_now();
        set_ticking(tracer, true);
    }
    pc_threads_remove(&tracer->threads, thread);
    next_turn(tracer);
}

/* A thread stopped by job control stays so, until SIGCONT; any other such stop is of our own making. */
static void on_stop_event(const struct pc_thread *thread, int signal_number) {
    bool group_stop = signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
                      signal_number == SIGTTOU;
    resume(thread, group_stop ? PTRACE_LISTEN : PTRACE_CONT, 0);
}

/* A thread nobody has told us of yet: its parent will. */
static void on_newborn(struct tracer *tracer, pid_t tid) {
    struct pc_thread *thread = pc_threads_add(&tracer->threads, tid, tid);
    if (thread == NULL)
        return;
    thread->state = PC_NEW;
    thread->born = pc_now();
    tracer->newborn++;
    set_ticking(tracer, true);
}

/* Notes where a signal that kills most programs hit; whether it does so here is seen at the end. Under
 * Valgrind the registers are not the program's. */
static void on_signal(struct tracer *tracer, const struct pc_thread *thread, int number) {
    struct pc_recorder *recorder = tracer->recorder;
    bool deadly = number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE ||
                  number == SIGABRT || number == SIGSYS;
    struct user_regs_struct regs;
    siginfo_t info;
    if (!deadly || recorder->grind != NULL || ptrace(PTRACE_GETREGS, thread->tid, 0, &regs) != 0 ||
        ptrace(PTRACE_GETSIGINFO, thread->tid, 0, &info) != 0)
        return;
    struct pc_event event = {.kind = PC_SIGNAL, .extra = (uint64_t)number};
    event.pid = (uint32_t)thread->tgid;
    event.tid = (uint32_t)thread->tid;
    event.offset = (uint64_t)(uintptr_t)info.si_addr;
    if (recorder->stacks != NULL)
        event.stack = pc_stack_capture(recorder->stacks, thread->tgid, thread->tid, &regs, NULL);
    pc_emit(recorder, &event);
}

static void on_stop(struct tracer *tracer, struct pc_thread *thread, int status) {
    int signal_number = WSTOPSIG(status), event = status >> 16;
    switch (event) {
    case PTRACE_EVENT_SECCOMP:
        if (ptrace(PTRACE_GETREGS, thread->tid, 0, &thread->regs) == 0) {
            pc_shared_cpu_at_entry(&tracer->shared_cpu, thread->tid, thread->regs.orig_rax);
            on_entry(tracer, thread);
        }
        return;
    case PTRACE_EVENT_FORK:
    case PTRACE_EVENT_VFORK:
    case PTRACE_EVENT_CLONE:
        on_fork(tracer, thread, event);
        break;
    case PTRACE_EVENT_EXEC:
        on_exec(tracer, thread);
        return;
    case PTRACE_EVENT_EXIT:
        finish_call(tracer, thread);
        return;
    case PTRACE_EVENT_STOP:
        on_stop_event(thread, signal_number);
        return;
    default:
        if (signal_number == (SIGTRAP | 0x80)) {
            finish_call(tracer, thread);
            return;
        }
        if (event == 0)
            on_signal(tracer, thread, signal_number);
        resume(thread, thread->state == PC_IN_CALL ? PTRACE_SYSCALL : PTRACE_CONT,
               event == 0 ? signal_number : 0);
        return;
    }
    resume(thread, PTRACE_CONT, 0);
}

static void on_status(struct tracer *tracer, pid_t tid, int status) {
    struct pc_thread *thread = pc_threads_find(&tracer->threads, tid);
    if (WIFSTOPPED(status)) {
        if (thread == NULL)
            on_newborn(tracer, tid);
        else
            on_stop(tracer, thread, status);
    } else if (thread != NULL && (WIFEXITED(status) || WIFSIGNALED(status))) {
        on_end(tracer, thread, status);
    }
}

static void kill_all(struct tracer *tracer) {
    tracer->killing = true;
    set_ticking(tracer, true);
    for (struct pc_thread *thread = NULL; (thread = pc_threads_next(&tracer->threads, thread)) != NULL;)
        (void)kill(thread->tgid, SIGKILL);
}

static void end_lingering(struct tracer *tracer) {
    pc_note(
        tracer->recorder, NULL,
        "powercut killed processes that were still running in the background %d s after the program ended",
        LINGER / 1000);
    kill_all(tracer);
}

/* Looks at everything that may have waited too long. */
static void tick(struct tracer *tracer) {
    uint64_t now = pc_now();
    pc_turns_expire(&tracer->turns);
    next_turn(tracer);
    for (struct pc_thread *thread = NULL;
         tracer->newborn > 0 && (thread = pc_threads_next(&tracer->threads, thread)) != NULL;) {
        /* Its parent died before it could tell. */
        if (thread->state == PC_NEW && now - thread->born > PATIENCE_NEW)
            resume_newborn(tracer, thread);
    }
    if (tracer->killing)
        kill_all(tracer); /* also what was started since */
    else if (tracer->first_ended != 0 && now - tracer->first_ended > LINGER)
        end_lingering(tracer);
    else if (tracer->first_ended == 0 && tracer->newborn == 0 && tracer->turns.first == NULL)
        set_ticking(tracer, false);
}

static void stop_early(struct tracer *tracer, enum pc_run_end end) {
    if (tracer->run.end == PC_RUN_ENDED)
        tracer->run.end = end;
    kill_all(tracer);
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_interrupt};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    action.sa_handler = on_tick;
    sigaction(SIGALRM, &action, NULL);
    /* Whoever started us may have blocked them; the program, which runs by now, keeps what it was given. */
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &ours, NULL);
}

struct pc_run pc_tracer_run(struct pc_recorder *recorder, pid_t first) {
    static struct tracer tracer; /* large, and there is only one */
    tracer = (struct tracer){.recorder = recorder, .first = first, .run = {.status = -1}};
    recorder->threads = &tracer.threads;
    catch_signals();
    pc_threads_add(&tracer.threads, first, first);
    for (;;) {
        int status;
        pid_t tid = waitpid(-1, &status, __WALL);
        if (tid > 0)
            on_status(&tracer, tid, status);
        else if (errno == ECHILD)
            break;
        else
            tick(&tracer);
        if (interrupted && !tracer.killing)
            stop_early(&tracer, PC_RUN_INTERRUPTED);
        if (recorder->mapped && !tracer.killing)
            stop_early(&tracer, PC_RUN_MAPPED);
        if (recorder->stuck && !tracer.killing)
            stop_early(&tracer, PC_RUN_STUCK);
        if (pc_writer_error(recorder->writer) != 0 && !tracer.killing)
            stop_early(&tracer, PC_RUN_WRITER);
    }
    set_ticking(&tracer, false);
    pc_threads_free(&tracer.threads);
    return tracer.run;
}

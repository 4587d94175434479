/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack is a function of the program counter, the stack pointer and of the words in memory that unwinding
 * reads: return addresses, saved frame pointers, the frames of an interpreter. The tracer, when asked for a
 * stack, says which words those were (channel.h). So a stack is known again when the thread is at the same
 * place and all these words hold what they held: nothing is counted at calls and returns, and longjmp,
 * signals, coroutines and whatever else moves stacks about need no care.
 *
 * Before: pc_hello was said. After pc_stack: the id is that which the tracer would have given.
 * Words are only read while they can be: pages they lie in are remembered, and when one is unmapped, or code
 * is mapped anew, all is forgotten.
 */
#include "stacks.h"

#include "requests.h"
#include "threads.h"

#define BUCKETS 4096u
#define PAGES   4096u       /* distinct pages of words before all is forgotten */
#define LIMIT   (64u << 20) /* bytes of memory before all is forgotten */

/* The words of a stack. Events of one function and its neighbours have them in common. */
struct words {
    struct words *next;
    UInt count;
    struct pc_channel_word list[];
};

struct stack {
    struct stack *next;
    Addr pc, sp;
    Addr fp; /* what rbp must be, if uses_fp */
    const struct words *words;
    UInt id;
    Bool uses_fp;
};

static struct stack *stacks[BUCKETS];
static struct words *all_words[BUCKETS];
static Addr pages[PAGES];
static UInt page_count;
static SizeT memory; /* in use */
static Bool wanted = True;

Bool pc_stacks_option(const HChar *argument) {
    return VG_BOOL_CLO(argument, "--stacks", wanted);
}

static struct stack **bucket_of(Addr pc, Addr sp) {
    return &stacks[((pc ^ sp << 7) * 0x9e3779b97f4a7c15ull) >> 52 & (BUCKETS - 1)];
}

static Bool hold(const struct words *words) {
    for (const struct pc_channel_word *word = words->list, *end = word + words->count; word < end; word++)
        if (*(const ULong *)word->address != word->value)
            return False;
    return True;
}

static void forget_all(void) {
    for (UInt i = 0; memory > 0 && i < BUCKETS; i++) {
        for (struct stack *next; stacks[i] != NULL; stacks[i] = next) {
            next = stacks[i]->next;
            VG_(free)(stacks[i]);
        }
        for (struct words *next; all_words[i] != NULL; all_words[i] = next) {
            next = all_words[i]->next;
            VG_(free)(all_words[i]);
        }
    }
    memory = 0;
    page_count = 0;
}

static Bool remember_page(Addr page) {
    for (UInt i = page_count; i > 0; i--)
        if (pages[i - 1] == page)
            return True;
    if (page_count == PAGES)
        return False;
    pages[page_count++] = page;
    return True;
}

static Bool remember_pages(const struct pc_channel_word *words, UInt count) {
    for (UInt i = 0; i < count; i++)
        if (!remember_page(VG_PGROUNDDN(words[i].address)) ||
            !remember_page(VG_PGROUNDDN(words[i].address + 7)))
            return False;
    return True;
}

/* These words, as one copy for all who have them. */
static const struct words *share(const struct pc_channel_word *list, UInt count) {
    ULong hash = count;
    SizeT size = count * sizeof(*list);
    for (UInt i = 0; i < count; i++)
        hash = (hash ^ list[i].address ^ list[i].value << 20) * 0x9e3779b97f4a7c15ull;
    struct words **bucket = &all_words[hash >> 52 & (BUCKETS - 1)], *words = *bucket;
    for (; words != NULL; words = words->next)
        if (words->count == count && VG_(memcmp)(words->list, list, size) == 0)
            return words;
    words = VG_(malloc)("powercut.words", sizeof(*words) + size);
    *words = (struct words){.next = *bucket, .count = count};
    VG_(memcpy)(words->list, list, size);
    memory += sizeof(*words) + size;
    *bucket = words;
    return words;
}

static void remember(struct stack **bucket, Addr pc, Addr sp, UInt id) {
    Int count = pc_page->word_count;
    if (count < 0 || count > PC_CHANNEL_WORDS)
        return;
    if (memory > LIMIT || !remember_pages(pc_page->words, (UInt)count)) {
        forget_all();
        remember_pages(pc_page->words, (UInt)count);
    }
    struct stack *stack = VG_(malloc)("powercut.stack", sizeof(*stack));
    *stack = (struct stack){.next = *bucket,
                            .pc = pc,
                            .sp = sp,
                            .fp = pc_guest->guest_RBP,
                            .words = share(pc_page->words, (UInt)count),
                            .id = id,
                            .uses_fp = pc_page->uses_rbp != 0};
    memory += sizeof(*stack);
    *bucket = stack;
}

UInt pc_stack(Addr pc) {
    if (!wanted)
        return 0;
    Addr sp = pc_guest->guest_RSP, fp = pc_guest->guest_RBP;
    struct stack **bucket = bucket_of(pc, sp);
    for (struct stack **at = bucket; *at != NULL; at = &(*at)->next) {
        struct stack *stack = *at;
        if (stack->pc != pc || stack->sp != sp || (stack->uses_fp && stack->fp != fp) || !hold(stack->words))
            continue;
        if (at != bucket) { /* what was there last comes first */
            *at = stack->next;
            stack->next = *bucket;
            *bucket = stack;
        }
        return stack->id;
    }
    pc_thread_tell(pc + 1);
    UInt id = pc_request_stack(pc_running);
    remember(bucket, pc, sp, id);
    return id;
}

static void on_gone(Addr start, SizeT length) {
    for (UInt i = 0; i < page_count; i++) {
        if (pages[i] >= VG_PGROUNDDN(start) && pages[i] < start + length) {
            forget_all();
            return;
        }
    }
}

static void on_new(Addr start, SizeT length, Bool rr, Bool ww, Bool xx, ULong debug_info) {
    if (xx)
        forget_all(); /* perhaps a library where another one was */
    else
        on_gone(start, length);
}

static void on_protect(Addr start, SizeT length, Bool rr, Bool ww, Bool xx) {
    if (!rr)
        on_gone(start, length);
}

void pc_stacks_init(void) {
    VG_(track_new_mem_mmap)(on_new);
    VG_(track_change_mem_mprotect)(on_protect);
    VG_(track_die_mem_munmap)(on_gone);
    VG_(track_die_mem_brk)(on_gone);
}

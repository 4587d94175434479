/* Tables of what was told: see stacks/told/told.h. Stacks are found by the number that the program gave them,
 * what was asked for by its key, slots by their thread; each together with the address space, as numbers
 * begin anew in another program. */
#include "stacks/told/told.h"
#include "hash_table.h"
#include "stacks/intern.h"
#include "stacks/stable_name.h"
#include "stacks/told/keys.h"
#include "told_format.h"
#include "trace/writer.h"

#include <limits.h>

#define MOST_ENTRIES (1u << 20) /* of one kind: beyond, nothing new is kept */
#define HEAD         8u

struct entry {
    uint64_t key; /* a hash, never 0 */
    uint64_t value;
    uint64_t name;
};

static inline bool entries_used(const struct entry *slot) {
    return slot->key != 0;
}

static inline uint64_t entries_key(const struct entry *slot) {
    return slot->key;
}

static inline uint64_t entries_hash(uint64_t key) {
    return key * PC_GOLDEN >> 20;
}

static inline bool entries_same(uint64_t one, uint64_t other) {
    return one == other;
}

PC_HASH_TABLE(entries, struct entry, uint64_t, 256)

struct pc_told {
    struct pc_intern *texts;
    struct entries stacks; /* value: id of the table's entry */
    struct entries slots;  /* value: address */
    struct entries asked;  /* value: key of the stack */
    struct entries last;   /* by thread; value: key of the stack that asked for its last open */
};

struct pc_told *pc_told_new(struct pc_writer *writer) {
    struct pc_told *told = calloc(1, sizeof *told);
    if (told && !(told->texts = pc_intern_new(writer, PC_TABLE_TOLD))) {
        free(told);
        return 0;
    }
    return told;
}

void pc_told_free(struct pc_told *told) {
    if (!told)
        return;
    pc_intern_free(told->texts);
    entries_free(&told->stacks);
    entries_free(&told->slots);
    entries_free(&told->asked);
    entries_free(&told->last);
    free(told);
}

static uint64_t key_of(uint64_t lineage, const void *data, size_t length) {
    uint64_t key = pc_name_bytes(PC_NAME_START, &lineage, sizeof lineage);
    return pc_name_bytes(key, data, length) | 1;
}

static void keep(struct entries *entries, uint64_t key, uint64_t value, uint64_t name) {
    if (entries->count >= MOST_ENTRIES && !entries_find(entries, key))
        return;
    struct entry *entry = entries_take(entries, key);
    if (entry)
        *entry = (struct entry){key, value, name};
}

void pc_told_hear(struct pc_told *told, struct pc_teller teller, uint64_t address, const uint8_t *data,
                  size_t length) {
    uint64_t lineage = teller.lineage, number = 0;
    if (length < HEAD || memcmp(data, PC_TOLD_MAGIC, HEAD - 1) != 0)
        return;
    uint8_t letter = data[HEAD - 1];
    data += HEAD;
    length -= HEAD;
    if (letter == 'S' && length >= sizeof(struct pc_told_slot)) {
        keep(&told->slots, key_of(lineage, &teller.tid, sizeof teller.tid), address + HEAD, 0);
        return;
    }
    if ((letter != 'D' && letter != 'A') || length <= sizeof number)
        return;
    memcpy(&number, data, sizeof number);
    data += sizeof number;
    length -= sizeof number;
    uint64_t stack = key_of(lineage, &number, sizeof number);
    if (letter == 'D')
        keep(&told->stacks, stack, pc_intern_id(told->texts, data, length), pc_name_told(data, length));
    else
        keep(&told->asked, key_of(lineage, data, length), stack, 0);
}

static const struct entry *slot_of(const struct pc_told *told, struct pc_teller teller) {
    if (told->slots.count == 0)
        return NULL;
    return entries_find(&told->slots, key_of(teller.lineage, &teller.tid, sizeof teller.tid));
}

struct pc_range pc_told_range(const struct pc_told *told, struct pc_teller teller) {
    const struct entry *slot = slot_of(told, teller);
    return slot ? (struct pc_range){slot->value, sizeof(struct pc_told_slot)} : (struct pc_range){0, 0};
}

void pc_told_fork(struct pc_told *told, uint64_t lineage, pid_t parent, pid_t child) {
    const struct entry *slot = slot_of(told, (struct pc_teller){lineage, parent});
    if (slot)
        keep(&told->slots, key_of(lineage, &child, sizeof child), slot->value, 0);
}

static struct pc_told_stack stack_of(const struct pc_told *told, uint64_t key) {
    const struct entry *stack = entries_find(&told->stacks, key);
    return stack ? (struct pc_told_stack){(uint32_t)stack->value, stack->name} : (struct pc_told_stack){0, 0};
}

static struct pc_told_stack numbered(const struct pc_told *told, uint64_t lineage, uint64_t number) {
    if (number == 0)
        return (struct pc_told_stack){0, 0};
    return stack_of(told, key_of(lineage, &number, sizeof number));
}

/* mkdtemp makes up the last letters of what it was asked for. */
static const struct entry *find_asked(const struct pc_told *told, uint64_t lineage, char *key,
                                      size_t length) {
    static const char made_up[] = "XXXXXX";
    const struct entry *found = entries_find(&told->asked, key_of(lineage, key, length));
    if (found || key[0] != 'm' || length <= sizeof made_up)
        return found;
    memcpy(key + length - (sizeof made_up - 1), made_up, sizeof made_up - 1);
    return entries_find(&told->asked, key_of(lineage, key, length));
}

static struct pc_told_stack asked_by_key(struct pc_told *told, struct pc_teller teller,
                                         struct pc_target_memory *memory,
                                         const struct user_regs_struct *regs) {
    char key[PATH_MAX + 2];
    uint64_t thread = key_of(teller.lineage, &teller.tid, sizeof teller.tid);
    size_t length = pc_told_key(memory, regs, key, sizeof key);
    const struct entry *found = length ? find_asked(told, teller.lineage, key, length) : NULL;
    if (found && key[0] == 'o')
        keep(&told->last, thread, found->value, 0);
    if (!found && (pc_told_follows_open(regs) || (length && key[0] == 't')))
        found = entries_find(&told->last, thread);
    return found ? stack_of(told, found->value) : (struct pc_told_stack){0, 0};
}

void pc_told_now(struct pc_told *told, struct pc_teller teller, struct pc_target_memory *memory,
                 const struct user_regs_struct *regs, struct pc_told_stack *here,
                 struct pc_told_stack *asked) {
    struct pc_told_slot now = {0, 0, 0};
    const struct entry *slot = slot_of(told, teller);
    *here = *asked = (struct pc_told_stack){0, 0};
    if (slot && pc_memory_read(memory, slot->value, &now, sizeof now)) {
        if (now.limit == 0 || regs->rsp < now.limit)
            *here = numbered(told, teller.lineage, now.here);
        *asked = numbered(told, teller.lineage, now.asked);
    } else if (told->asked.count) {
        *asked = asked_by_key(told, teller, memory, regs);
    }
}

struct pc_told_stack pc_told_by(const struct pc_told *told, struct pc_teller teller,
                                struct pc_target_memory *memory) {
    struct pc_told_slot now = {0, 0, 0};
    const struct entry *slot = slot_of(told, teller);
    if (!slot || !pc_memory_read(memory, slot->value, &now, sizeof now))
        return (struct pc_told_stack){0, 0};
    struct pc_told_stack here = numbered(told, teller.lineage, now.here);
    return here.id && now.limit == 0 ? here : numbered(told, teller.lineage, now.asked);
}

bool pc_told_is_runtime(const struct pc_module *module) {
    static const char *const names[] = {"node",       "nodejs",    "libnode.so", "libuv.so", "libjvm.so",
                                        "libjava.so", "libnio.so", "java",       "ruby",     "libruby",
                                        "libruby-3",  "perl",      "libperl.so"};
    const char *slash = strrchr(module->path, '/'), *file = slash ? slash + 1 : module->path;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(file, names[i], length) == 0 && strchr(".0123456789", file[length]))
            return true;
    }
    return false;
}

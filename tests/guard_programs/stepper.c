/* A service that can be cut anywhere and goes on where it was, for tests of the guard: each step leaves the same,
 * however often it was begun.
 *
 *   stepper POOL work N    all steps up to N that are not done yet; one of them writes a wrong number
 *   stepper POOL check     reads all it has; dies where the wrong number leads it
 *   stepper POOL ranges    "name offset size" of all its data, one a line
 */
#include <libpmemobj.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POOL_SIZE (9 << 20) /* not that of a segment of the log: disk_log.c tells them apart by it */
#define SLOTS     8
#define WRONG     5 /* the step that goes wrong */

struct entry {
    uint64_t number;
    PMEMoid next;
    char text[40];
};
struct slot {
    uint64_t value;
    char text[56];
    PMEMoid note;
    char pad[48];
};
struct root {
    uint64_t done, total, wrong, untouched, count;
    PMEMoid newest;
    char pad[8];
    struct slot slots[SLOTS];
};
#define HEAD offsetof(struct root, pad)

static PMEMobjpool *pool;
static struct root *root;

static void set(uint64_t *word, uint64_t value) {
    *word = value;
    pmemobj_persist(pool, word, sizeof *word); /* SITE: set */
}

/* A new entry in front; the one behind the next goes. All of the root's head is given to the transaction. */
static void enter(uint64_t step) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, HEAD); /* SITE: head */
        PMEMoid entry = pmemobj_tx_zalloc(sizeof(struct entry), 1); /* SITE: entry */
        struct entry *at = pmemobj_direct(entry);
        at->number = step;
        at->next = root->newest;
        if (root->count == 2) {
            struct entry *last = pmemobj_direct(at->next);
            pmemobj_tx_add_range_direct(&last->next, sizeof last->next); /* SITE: last */
            pmemobj_tx_free(last->next);
            last->next = OID_NULL;
        } else {
            root->count++;
        }
        root->newest = entry;
        root->total += step;
        root->done = step;
    }
    TX_END
}

static void give_up(void) {
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(root, HEAD); /* SITE: given up */
        root->total = root->count = UINT64_MAX;
        pmemobj_tx_abort(0);
    }
    TX_END
}

static int fill_note(PMEMobjpool *in, void *note, void *step) {
    pmemobj_memset_persist(in, note, 'a' + *(char *)step % 26, 100); /* SITE: note */
    return 0;
}

static void write_slot(struct slot *slot, uint64_t step) {
    char text[sizeof slot->text] = {0};
    snprintf(text, sizeof text, "this is what step %llu has to say", (unsigned long long)step);
    pmemobj_memcpy_persist(pool, slot->text, text, sizeof text); /* SITE: text */
    if (OID_IS_NULL(slot->note))
        pmemobj_alloc(pool, &slot->note, 100, 2, fill_note, &step); /* SITE: noted */
    set(&slot->value, step);
}

static void do_step(uint64_t step) {
    if (step == WRONG) {
        root->wrong = 8;
        pmemobj_persist(pool, &root->wrong, sizeof root->wrong); /* SITE: wrong */
    } else if (step % 3 == 0) {
        enter(step);
        return;
    } else if (step % 3 == 1) {
        write_slot(&root->slots[step % SLOTS], step);
    } else {
        give_up();
    }
    set(&root->done, step);
}

/* Looks at everything, so that everything may be to blame. */
static int check(void) {
    uint64_t sum = 0;
    for (PMEMoid at = root->newest; !OID_IS_NULL(at); at = ((struct entry *)pmemobj_direct(at))->next)
        if (((struct entry *)pmemobj_direct(at))->number > root->done)
            return 3;
    for (unsigned i = 0; i < SLOTS; i++) {
        struct slot *slot = &root->slots[i];
        if (slot->value && (slot->text[0] != 't' || *(char *)pmemobj_direct(slot->note) < 'a'))
            return 4;
        sum += slot->value;
    }
    if (root->total < root->count || root->untouched || sum > 1000)
        return 5;
    if (root->wrong)
        *(volatile int *)(uintptr_t)root->wrong = 0;
    return 0;
}

static void print_range(const char *name, uint64_t number, PMEMoid id, size_t size) {
    if (!OID_IS_NULL(id))
        printf("%s-%llu %llu %zu\n", name, (unsigned long long)number, (unsigned long long)id.off, size);
}

static void print_ranges(void) {
    uint64_t number = 0;
    print_range("root", 0, pmemobj_oid(root), sizeof *root);
    for (PMEMoid at = root->newest; !OID_IS_NULL(at); at = ((struct entry *)pmemobj_direct(at))->next)
        print_range("entry", number++, at, sizeof(struct entry));
    for (unsigned i = 0; i < SLOTS; i++)
        print_range("note", i, root->slots[i].note, 100);
}

int main(int argc, char **argv) {
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], "stepper")
                                      : pmemobj_create(argv[1], "stepper", POOL_SIZE, 0600);
    if (!pool || argc < 3) {
        fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg());
        return 9;
    }
    root = pmemobj_direct(pmemobj_root(pool, sizeof *root));
    int code = 0;
    if (strcmp(argv[2], "work") == 0)
        for (uint64_t step = root->done + 1; step <= strtoull(argv[3], NULL, 10); step++)
            do_step(step);
    else if (strcmp(argv[2], "check") == 0)
        code = check();
    else
        print_ranges();
    pmemobj_close(pool);
    return code;
}

/* Reads code objects: see stacks/python/code_objects.h. What was read is cached, each in the one slot that
 * its address has: no hash table, as a later one may take the slot.
 *
 * An address may be used again for another code object, so each use compares the head of the object (its
 * pointers, first line and size) with what was seen when its content was read. All heads of a stack come with
 * one system call.
 */
#define _GNU_SOURCE
#include "stacks/python/code_objects.h"
#include "stacks/intern.h"
#include "stacks/stable_name.h"
#include "trace_format.h"

#include <stdlib.h>
#include <sys/uio.h>

#define MAX_TEXT      4096u /* code points of a file name or qualified name */
#define MAX_LINETABLE (1u << 20)
#define MAX_REFS      128u
#define CACHE_SLOTS   8192u /* direct mapped: a clash costs a second look at the object, no more */

struct head {
    uint64_t size, filename, qualname, linetable;
    uint32_t first_line;
};

struct cached {
    uint64_t lineage, address;
    struct head head;
    uint32_t id;
};

struct pc_pycodes {
    struct pc_intern *intern;
    struct pc_stack_names names;
    struct cached cache[CACHE_SLOTS];
    uint8_t heads[MAX_REFS * PC_PYCODE_HEAD];
    uint8_t blob[sizeof(struct pc_pycode) + 2 * 4 * MAX_TEXT + MAX_LINETABLE];
};

struct pc_pycodes *pc_pycodes_new(struct pc_writer *writer) {
    struct pc_pycodes *codes = calloc(1, sizeof *codes);
    if (codes && !(codes->intern = pc_intern_new(writer, PC_TABLE_PYCODE))) {
        free(codes);
        return 0;
    }
    return codes;
}

void pc_pycodes_free(struct pc_pycodes *codes) {
    if (codes) {
        pc_intern_free(codes->intern);
        pc_stack_names_free(&codes->names);
    }
    free(codes);
}

static uint64_t word(const uint8_t *data, uint32_t offset) {
    uint64_t value;
    memcpy(&value, data + offset, 8);
    return value;
}

static uint64_t put_utf8(uint8_t *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c >= 0xdc80 && c <= 0xdcff) { /* an undecodable byte of a path: the byte itself, as on disk */
        out[0] = (uint8_t)(c - 0xdc00);
        return 1;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | (c >> 18 & 7));
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

static uint32_t code_point(const uint8_t *text, uint64_t index, unsigned width) {
    uint32_t value = 0;
    memcpy(&value, text + index * width, width);
    return value;
}

/* A str as UTF-8 into out, which has room for 4 * MAX_TEXT bytes. False: not a str of a kind that names have.
 */
static bool read_text(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t address,
                      uint8_t *out, uint32_t *length) {
    uint64_t points;
    uint32_t state;
    uint8_t text[4 * MAX_TEXT];
    if (!pc_memory_read(memory, address + o->unicode_length, &points, 8) ||
        !pc_memory_read(memory, address + o->unicode_state, &state, 4) || points > MAX_TEXT)
        return false;
    /* `interned` stands before `kind`: two bits, or sixteen in some builds, which then never sets the bits
     * between. */
    state >>= (state & 0xffff) > 3 ? 2 : 16;
    unsigned width = state & 7;
    bool compact = state >> 3 & 1, ascii = state >> 4 & 1;
    if (!compact || (width != 1 && width != 2 && width != 4))
        return false;
    uint64_t data = address + (ascii ? o->ascii_size : o->compact_size), used = 0;
    if (points && !pc_memory_read(memory, data, text, points * width))
        return false;
    for (uint64_t i = 0; i < points; i++)
        used += put_utf8(out + used, code_point(text, i, width));
    *length = (uint32_t)used;
    return true;
}

static bool read_linetable(struct pc_target_memory *memory, const struct pc_pyoffsets *o, uint64_t address,
                           uint8_t *out, uint32_t *length) {
    uint64_t size;
    if (!pc_memory_read(memory, address + 16, &size, 8) || size > MAX_LINETABLE)
        return false;
    *length = (uint32_t)size;
    return size == 0 || pc_memory_read(memory, address + o->bytes_data, out, size);
}

static uint32_t intern_code(struct pc_pycodes *codes, const struct pc_pyoffsets *o,
                            struct pc_target_memory *memory, const struct head *head) {
    struct pc_pycode code = {.version = o->version, .first_line = head->first_line};
    uint8_t *out = codes->blob + sizeof code;
    if (!read_text(memory, o, head->filename, out, &code.filename_length))
        return 0;
    out += code.filename_length;
    if (!read_text(memory, o, head->qualname, out, &code.qualname_length))
        return 0;
    out += code.qualname_length;
    if (!read_linetable(memory, o, head->linetable, out, &code.linetable_length))
        return 0;
    out += code.linetable_length;
    memcpy(codes->blob, &code, sizeof code);
    uint32_t id = pc_intern_id(codes->intern, codes->blob, (uint64_t)(out - codes->blob));
    pc_stack_names_keep(&codes->names, id, pc_pycode_name(codes->blob));
    return id;
}

uint64_t pc_pycodes_name(const struct pc_pycodes *codes, uint32_t id) {
    return pc_stack_names_get(&codes->names, id);
}

/* Reads the head of each object that differs from the one before; recursion makes equal neighbours. Returns
 * how many of refs[] are covered: the kernel stops at the first bad address. place[i] is the head of refs[i].
 */
static unsigned read_heads(struct pc_pycodes *codes, uint32_t bytes, pid_t pid,
                           const struct pc_pycode_ref *refs, unsigned count, uint8_t *place) {
    struct iovec local = {codes->heads, 0}, remote[MAX_REFS];
    unsigned heads = 0;
    for (unsigned i = 0; i < count; i++) {
        if (i == 0 || refs[i].address != refs[i - 1].address)
            remote[heads++] = (struct iovec){(void *)refs[i].address, bytes};
        place[i] = (uint8_t)(heads - 1);
    }
    local.iov_len = (size_t)heads * bytes;
    ssize_t got = process_vm_readv(pid, &local, 1, remote, heads, 0);
    unsigned whole = got > 0 ? (unsigned)got / bytes : 0;
    while (count > 0 && place[count - 1] >= whole)
        count--;
    return count;
}

static bool parse_head(const uint8_t *data, const struct pc_pyoffsets *o, uint64_t type, struct head *head) {
    memset(head, 0, sizeof *head); /* compared as bytes */
    head->size = word(data, 16) * 2;
    head->filename = word(data, o->code_filename);
    head->qualname = word(data, o->code_qualname);
    head->linetable = word(data, o->code_linetable);
    memcpy(&head->first_line, data + o->code_first_line, 4);
    return (type == 0 || word(data, 8) == type) && head->size < (1u << 30);
}

/* An object counts by its head, as above. */
static void depend(struct pc_reads *reads, const struct pc_pyoffsets *o, uint64_t address,
                   const uint8_t *data) {
    const uint32_t offsets[] = {16, o->code_filename, o->code_qualname, o->code_linetable,
                                o->code_first_line & ~7u};
    for (unsigned i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
        pc_reads_add(reads, address + offsets[i], word(data, offsets[i]));
}

static void resolve_one(struct pc_pycodes *codes, const struct pc_pyoffsets *o,
                        struct pc_target_memory *memory, uint64_t lineage, const struct head *head,
                        struct pc_pycode_ref *ref) {
    uint64_t hash = (ref->address >> 4 ^ lineage << 20) * 0x9e3779b97f4a7c15ull;
    struct cached *c = &codes->cache[hash >> 40 & (CACHE_SLOTS - 1)];
    if (c->lineage != lineage || c->address != ref->address || memcmp(&c->head, head, sizeof *head) != 0) {
        uint32_t id = intern_code(codes, o, memory, head);
        *c = (struct cached){lineage, ref->address, *head, id};
    }
    ref->id = c->id;
    ref->size = head->size;
}

void pc_pycodes_resolve(struct pc_pycodes *codes, const struct pc_pyoffsets *offsets,
                        struct pc_target_memory *memory, uint64_t lineage, uint64_t type,
                        struct pc_pycode_ref *refs, unsigned count) {
    uint32_t bytes = offsets->code_linetable + 8;
    if (count > MAX_REFS)
        count = MAX_REFS;
    for (unsigned i = 0; i < count; i++)
        refs[i].id = 0;
    if (bytes > PC_PYCODE_HEAD || offsets->code_filename > bytes - 8 || offsets->code_qualname > bytes - 8 ||
        offsets->code_first_line > bytes - 4)
        return;
    uint8_t place[MAX_REFS];
    unsigned got = read_heads(codes, bytes, memory->pid, refs, count, place);
    for (unsigned i = 0; i < got; i++) {
        struct head head;
        const uint8_t *data = codes->heads + (size_t)place[i] * bytes;
        if (i == 0 || place[i] != place[i - 1])
            depend(memory->reads, offsets, refs[i].address, data);
        if (parse_head(data, offsets, type, &head))
            resolve_one(codes, offsets, memory, lineage, &head, &refs[i]);
    }
}

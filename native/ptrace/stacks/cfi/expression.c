/* A small stack machine for DWARF expressions: see stacks/cfi/expression.h. Steps and stack are bounded, as
 * the program comes from a file that nobody vouches for. */
#include "stacks/cfi/expression.h"
#include "stacks/cfi/cursor.h"

#define DEPTH 32
#define STEPS 512

struct evaluation {
    struct cfi_cursor c;
    const uint8_t *start;
    const struct cfi_registers *registers;
    struct pc_target_memory *memory;
    uint64_t stack[DEPTH];
    unsigned depth;
};

static void fail(struct evaluation *e) {
    e->c.bad = true;
}

static void push(struct evaluation *e, uint64_t value) {
    if (e->depth == DEPTH)
        fail(e);
    else
        e->stack[e->depth++] = value;
}

static uint64_t pop(struct evaluation *e) {
    if (e->depth == 0) {
        fail(e);
        return 0;
    }
    return e->stack[--e->depth];
}

static void pick(struct evaluation *e, unsigned below) {
    if (below >= e->depth)
        fail(e);
    else
        push(e, e->stack[e->depth - 1 - below]);
}

static void base_register(struct evaluation *e, uint64_t reg, int64_t offset) {
    if (reg >= CFI_REGISTERS || !(e->registers->known >> reg & 1))
        fail(e);
    else {
        cfi_depend(e->memory, e->registers, (unsigned)reg);
        push(e, e->registers->value[reg] + (uint64_t)offset);
    }
}

static void deref(struct evaluation *e, unsigned size) {
    uint64_t value = 0, address = pop(e);
    if (e->c.bad || size == 0 || size > 8 || !pc_memory_read(e->memory, address, &value, size))
        fail(e);
    else
        push(e, value);
    if (size == 8)
        pc_reads_add(e->memory->reads, address, value);
    else
        pc_reads_lost(e->memory->reads);
}

static void jump(struct evaluation *e, int16_t distance) {
    int64_t target = (e->c.at - e->start) + distance;
    if (target < 0 || target > e->c.end - e->start)
        fail(e);
    else
        e->c.at = e->start + target;
}

static void swap(struct evaluation *e) {
    uint64_t a = pop(e), b = pop(e);
    push(e, a);
    push(e, b);
}

static void rotate(struct evaluation *e) {
    uint64_t a = pop(e), b = pop(e), c = pop(e);
    push(e, a);
    push(e, c);
    push(e, b);
}

/* const1u .. consts and addr; false: another operation. */
static bool constant(struct evaluation *e, uint8_t op) {
    struct cfi_cursor *c = &e->c;
    switch (op) {
    case 0x08:
        push(e, cfi_u8(c));
        return true;
    case 0x09:
        push(e, (uint64_t)(int8_t)cfi_u8(c));
        return true;
    case 0x0a:
        push(e, cfi_u16(c));
        return true;
    case 0x0b:
        push(e, (uint64_t)(int16_t)cfi_u16(c));
        return true;
    case 0x0c:
        push(e, cfi_u32(c));
        return true;
    case 0x0d:
        push(e, (uint64_t)(int64_t)(int32_t)cfi_u32(c));
        return true;
    case 0x0e:
    case 0x0f:
        push(e, cfi_u64(c));
        return true;
    case 0x10:
        push(e, cfi_uleb(c));
        return true;
    case 0x11:
        push(e, (uint64_t)cfi_sleb(c));
        return true;
    default:
        return false;
    }
}

/* Operations on two values; false: another operation. */
static bool binary(struct evaluation *e, uint8_t op) {
    bool known = op == 0x1a || (op >= 0x1b && op <= 0x1e) || (op >= 0x21 && op <= 0x22) ||
                 (op >= 0x24 && op <= 0x27) || (op >= 0x29 && op <= 0x2e);
    if (!known)
        return false;
    uint64_t b = pop(e), a = pop(e), r = 0;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    bool division = op == 0x1b || op == 0x1d;
    if (division && (b == 0 || (sb == -1 && sa == INT64_MIN))) {
        fail(e);
        return true;
    }
    // clang-format off
    switch (op) {
    case 0x1a: r = a & b; break;
    case 0x1b: r = (uint64_t)(sa / sb); break;
    case 0x1c: r = a - b; break;
    case 0x1d: r = a % b; break;
    case 0x1e: r = a * b; break;
    case 0x21: r = a | b; break;
    case 0x22: r = a + b; break;
    case 0x24: r = b < 64 ? a << b : 0; break;
    case 0x25: r = b < 64 ? a >> b : 0; break;
    case 0x26: r = (uint64_t)(sa >> (b < 64 ? b : 63)); break;
    case 0x27: r = a ^ b; break;
    case 0x29: r = sa == sb; break;
    case 0x2a: r = sa >= sb; break;
    case 0x2b: r = sa > sb; break;
    case 0x2c: r = sa <= sb; break;
    case 0x2d: r = sa < sb; break;
    case 0x2e: r = sa != sb; break;
    }
    // clang-format on
    push(e, r);
    return true;
}

/* Operations on the stack itself and on one value; false: another operation. */
static bool unary(struct evaluation *e, uint8_t op) {
    uint64_t v;
    switch (op) {
    case 0x06: /* deref */
        deref(e, 8);
        return true;
    case 0x94: /* deref_size */
        deref(e, cfi_u8(&e->c));
        return true;
    case 0x12: /* dup */
        pick(e, 0);
        return true;
    case 0x13: /* drop */
        pop(e);
        return true;
    case 0x14: /* over */
        pick(e, 1);
        return true;
    case 0x15:
        pick(e, cfi_u8(&e->c));
        return true;
    case 0x16:
        swap(e);
        return true;
    case 0x17:
        rotate(e);
        return true;
    case 0x19: /* abs */
        v = pop(e);
        push(e, (int64_t)v < 0 ? 0 - v : v);
        return true;
    case 0x1f: /* neg */
        push(e, 0 - pop(e));
        return true;
    case 0x20: /* not */
        push(e, ~pop(e));
        return true;
    case 0x23: /* plus_uconst */
        v = pop(e);
        push(e, v + cfi_uleb(&e->c));
        return true;
    default:
        return false;
    }
}

static void step(struct evaluation *e) {
    uint8_t op = cfi_u8(&e->c);
    if (op >= 0x30 && op <= 0x4f) {
        push(e, op - 0x30u); /* lit0 .. lit31 */
    } else if (op >= 0x70 && op <= 0x8f) {
        base_register(e, op - 0x70u, cfi_sleb(&e->c));
    } else if (op == 0x92) { /* bregx */
        uint64_t reg = cfi_uleb(&e->c);
        base_register(e, reg, cfi_sleb(&e->c));
    } else if (op == 0x2f) { /* skip */
        jump(e, (int16_t)cfi_u16(&e->c));
    } else if (op == 0x28) { /* bra */
        int16_t distance = (int16_t)cfi_u16(&e->c);
        if (pop(e) != 0)
            jump(e, distance);
    } else if (op != 0x96 && !constant(e, op) && !binary(e, op) && !unary(e, op)) {
        fail(e);
    }
}

bool pc_cfi_evaluate(const struct cfi_section *frame, uint64_t block, const struct cfi_registers *registers,
                     struct pc_target_memory *memory, bool push_start, uint64_t start, uint64_t *result) {
    if (block >= frame->size)
        return false;
    struct evaluation e = {.registers = registers, .memory = memory};
    e.c = cfi_cursor_of(frame->data + block, frame->size - block);
    uint64_t length = cfi_uleb(&e.c);
    if (e.c.bad || length > (uint64_t)(e.c.end - e.c.at))
        return false;
    e.start = e.c.at;
    e.c.end = e.c.at + length;
    if (push_start)
        push(&e, start);
    for (unsigned steps = 0; cfi_more(&e.c); steps++) {
        if (steps == STEPS)
            return false;
        step(&e);
    }
    *result = pop(&e);
    return !e.c.bad;
}

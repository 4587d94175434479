/* Runs call frame instructions up to an address: see stacks/cfi/cfi.h.
 *
 * The machine holds one rule for each register and one for the CFA; the CIE's instructions give the start,
 * those of the FDE change it as the address grows. Instructions about vector registers are parsed and
 * dropped.
 */
#include "stacks/cfi/cfi.h"
#include "stacks/cfi/cursor.h"

#define REMEMBERED 16

struct state {
    bool cfa_expression;
    uint8_t cfa_reg;
    int32_t cfa_value;
    struct cfi_rule rules[CFI_REGISTERS]; /* .reg is not used here */
};

struct machine {
    const struct cfi_section *frame;
    const struct cfi_fde *fde;
    struct cfi_cursor c;
    uint64_t location, target;
    struct state now, initial;
    struct state stack[REMEMBERED];
    unsigned depth;
};

static void set_rule(struct machine *m, uint64_t reg, enum cfi_kind kind, int64_t value) {
    if (value < INT32_MIN || value > INT32_MAX)
        m->c.bad = true;
    else if (reg < CFI_REGISTERS)
        m->now.rules[reg] = (struct cfi_rule){(uint8_t)reg, (uint8_t)kind, (int32_t)value};
}

static void set_cfa(struct machine *m, uint64_t reg, int64_t offset) {
    if (reg >= CFI_REGISTERS || offset < INT32_MIN || offset > INT32_MAX) {
        m->c.bad = true;
        return;
    }
    m->now.cfa_expression = false;
    m->now.cfa_reg = (uint8_t)reg;
    m->now.cfa_value = (int32_t)offset;
}

/* Steps over an expression block and gives its offset in .eh_frame. */
static int64_t block(struct machine *m) {
    int64_t offset = m->c.at - m->frame->data;
    cfi_skip(&m->c, cfi_uleb(&m->c));
    return offset;
}

/* Data-aligned offsets: multiplied without signed overflow, as both factors come from the file. */
static int64_t scaled(const struct machine *m, uint64_t factor) {
    return (int64_t)(factor * (uint64_t)m->fde->data_align);
}

static void advance(struct machine *m, uint64_t delta) {
    m->location += delta * m->fde->code_align;
}

static void restore(struct machine *m, uint64_t reg) {
    if (reg < CFI_REGISTERS)
        m->now.rules[reg] = m->initial.rules[reg];
}

static void remember(struct machine *m) {
    if (m->depth == REMEMBERED)
        m->c.bad = true;
    else
        m->stack[m->depth++] = m->now;
}

static void recall(struct machine *m) {
    if (m->depth == 0)
        m->c.bad = true;
    else
        m->now = m->stack[--m->depth];
}

static void cfa_expression(struct machine *m) {
    int64_t at = block(m);
    if (at > INT32_MAX)
        m->c.bad = true;
    m->now.cfa_expression = true;
    m->now.cfa_value = (int32_t)at;
}

/* Instructions that define the CFA; false: another instruction. */
static bool run_cfa(struct machine *m, uint8_t op) {
    uint64_t reg;
    switch (op) {
    case 0x0c: /* def_cfa */
        reg = cfi_uleb(&m->c);
        set_cfa(m, reg, (int64_t)cfi_uleb(&m->c));
        return true;
    case 0x12: /* def_cfa_sf */
        reg = cfi_uleb(&m->c);
        set_cfa(m, reg, scaled(m, (uint64_t)cfi_sleb(&m->c)));
        return true;
    case 0x0d: /* def_cfa_register */
        set_cfa(m, cfi_uleb(&m->c), m->now.cfa_value);
        return true;
    case 0x0e: /* def_cfa_offset */
        set_cfa(m, m->now.cfa_reg, (int64_t)cfi_uleb(&m->c));
        return true;
    case 0x13: /* def_cfa_offset_sf */
        set_cfa(m, m->now.cfa_reg, scaled(m, (uint64_t)cfi_sleb(&m->c)));
        return true;
    case 0x0f: /* def_cfa_expression */
        cfa_expression(m);
        return true;
    default:
        return false;
    }
}

/* Instructions that give a register's rule; false: another instruction. */
static bool run_register(struct machine *m, uint8_t op) {
    static const uint8_t kinds[] = {
        [0x05] = CFI_OFFSET,     [0x11] = CFI_OFFSET,        [0x14] = CFI_VAL_OFFSET, [0x15] = CFI_VAL_OFFSET,
        [0x2f] = CFI_OFFSET,     [0x07] = CFI_UNDEFINED,     [0x08] = CFI_SAME,       [0x09] = CFI_REGISTER,
        [0x10] = CFI_EXPRESSION, [0x16] = CFI_VAL_EXPRESSION};
    int64_t value = 0;
    if (op != 0x08 && (op >= sizeof kinds || kinds[op] == 0))
        return false;
    uint64_t reg = cfi_uleb(&m->c);
    switch (op) {
    case 0x05: /* offset_extended */
    case 0x14: /* val_offset */
        value = scaled(m, cfi_uleb(&m->c));
        break;
    case 0x2f: /* GNU_negative_offset_extended */
        value = -scaled(m, cfi_uleb(&m->c));
        break;
    case 0x11: /* offset_extended_sf */
    case 0x15: /* val_offset_sf */
        value = scaled(m, (uint64_t)cfi_sleb(&m->c));
        break;
    case 0x09: /* register */
        value = (int64_t)cfi_uleb(&m->c);
        break;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        value = block(m);
        break;
    }
    set_rule(m, reg, kinds[op], value);
    return true;
}

/* The low-numbered instructions that neither define the CFA nor a rule. */
static void run_other(struct machine *m, uint8_t op) {
    switch (op) {
    case 0x00: /* nop */
        return;
    case 0x01: /* set_loc: would need an encoded pointer; no x86-64 tool writes it */
        m->c.bad = true;
        return;
    case 0x02:
        advance(m, cfi_u8(&m->c));
        return;
    case 0x03:
        advance(m, cfi_u16(&m->c));
        return;
    case 0x04:
        advance(m, cfi_u32(&m->c));
        return;
    case 0x06: /* restore_extended */
        restore(m, cfi_uleb(&m->c));
        return;
    case 0x0a:
        remember(m);
        return;
    case 0x0b:
        recall(m);
        return;
    case 0x2e: /* GNU_args_size */
        cfi_uleb(&m->c);
        return;
    default:
        m->c.bad = true;
    }
}

static void run(struct machine *m, uint64_t start, uint64_t end) {
    m->c = cfi_cursor_of(m->frame->data + start, end - start);
    while (cfi_more(&m->c)) {
        uint8_t op = cfi_u8(&m->c), low = op & 0x3f;
        uint64_t before = m->location;
        if ((op & 0xc0) == 0x40)
            advance(m, low);
        else if ((op & 0xc0) == 0x80)
            set_rule(m, low, CFI_OFFSET, scaled(m, cfi_uleb(&m->c)));
        else if ((op & 0xc0) == 0xc0)
            restore(m, low);
        else if (!run_cfa(m, op) && !run_register(m, op))
            run_other(m, op);
        if (m->location != before && m->location > m->target)
            return;
    }
}

static void pack(const struct machine *m, struct cfi_row *row) {
    row->cfa_expression = m->now.cfa_expression;
    row->cfa_reg = m->now.cfa_reg;
    row->cfa_value = m->now.cfa_value;
    row->signal = m->fde->signal;
    row->count = 0;
    for (unsigned reg = 0; reg < CFI_REGISTERS; reg++) {
        struct cfi_rule rule = m->now.rules[reg];
        rule.reg = (uint8_t)reg;
        if (rule.kind != CFI_SAME)
            row->rules[row->count++] = rule;
    }
}

bool pc_cfi_row(struct cfi_tables *tables, uint64_t address, struct cfi_row *row) {
    struct cfi_fde fde;
    if (!pc_cfi_find(tables, address, &fde))
        return false;
    struct machine m;
    memset(&m.now, 0, sizeof m.now);
    m.frame = &tables->frame;
    m.fde = &fde;
    m.depth = 0;
    m.location = fde.start;
    m.target = UINT64_MAX; /* the CIE's instructions hold for every address */
    m.now.cfa_reg = CFI_RSP;
    run(&m, fde.initial, fde.initial_end);
    if (m.c.bad)
        return false;
    m.initial = m.now;
    m.location = fde.start;
    m.target = address;
    run(&m, fde.code, fde.code_end);
    if (m.c.bad)
        return false;
    pack(&m, row);
    return true;
}

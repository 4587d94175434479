/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the bytes of one instruction. After: whether it flushes, fences, stores past the cache or locks.
 *
 * Valgrind 3.19 makes one kind of fence of sfence, lfence and mfence, does not know clwb and clflushopt,
 * rounds the address of clflush, and drops non-temporal hints. Only these few instructions are looked at.
 */
#include "decode.h"

#define LONGEST 15u /* bytes of an instruction */

struct cursor {
    const UChar *at;
    Bool size, address, repeat, repeat_not, lock; /* prefixes 66, 67, f3, f2, f0 */
    HChar segment;
    UChar rex;
};

/* Reads the prefix at the cursor; False: there is none. */
static Bool legacy_prefix(struct cursor *c) {
    switch (*c->at) {
    case 0x66:
        c->size = True;
        return True;
    case 0x67:
        c->address = True;
        return True;
    case 0xf2:
        c->repeat_not = True;
        return True;
    case 0xf3:
        c->repeat = True;
        return True;
    case 0xf0:
        c->lock = True;
        return True;
    case 0x64:
        c->segment = 'f';
        return True;
    case 0x65:
        c->segment = 'g';
        return True;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
        return True; /* segments that are flat */
    default:
        return False;
    }
}

static void prefixes(struct cursor *c) {
    for (UInt i = 0; i < LONGEST && legacy_prefix(c); i++)
        c->at++;
    if ((*c->at & 0xf0) == 0x40)
        c->rex = *c->at++;
}

static Long displacement(const UChar *at, UInt size) {
    return size == 1 ? *(const signed char *)at : *(const Int *)at;
}

/* Reads mod-r/m, scale-index-base and displacement; the cursor ends behind them. */
static void operand(struct cursor *c, struct pc_operand *out) {
    UInt mod = *c->at >> 6, rm = *c->at & 7;
    c->at++;
    *out = (struct pc_operand){
        .base = (Int)(rm | (c->rex & 1) << 3), .index = -1, .segment = c->segment, .truncated = c->address};
    if (rm == 4) {
        UInt index = (*c->at >> 3 & 7) | (c->rex & 2) << 2, base = *c->at & 7;
        out->scale = *c->at >> 6;
        out->index = index == 4 ? -1 : (Int)index;
        out->base = mod == 0 && base == 5 ? -1 : (Int)(base | (c->rex & 1) << 3);
        c->at++;
    } else if (mod == 0 && rm == 5) {
        out->base = -1;
        out->relative = True;
    }
    UInt size = mod == 1 ? 1 : mod == 2 || (mod == 0 && out->base < 0) ? 4 : 0;
    if (size > 0)
        out->displacement = displacement(c->at, size);
    c->at += size;
}

/* 0f ae: flushes if the operand is in memory, fences if not. */
static void group_15(struct cursor *c, struct pc_instruction *out) {
    UInt reg = *c->at >> 3 & 7;
    if (c->repeat || c->repeat_not)
        return;
    if (*c->at >= 0xc0) {
        if (!c->size)
            out->fence = reg == 7 ? PC_FENCE_SFENCE : reg == 6 ? PC_FENCE_MFENCE : 0;
        return;
    }
    if (reg == 7)
        out->flush = c->size ? PC_FLUSH_CLFLUSHOPT : PC_FLUSH_CLFLUSH;
    else if (reg == 6 && c->size)
        out->flush = PC_FLUSH_CLWB;
    if (out->flush != 0)
        operand(c, &out->operand);
}

/* movnti, movntps and movntpd, movntq and movntdq, maskmovq and maskmovdqu, and their forms with a VEX
 * prefix. */
static Bool stores_past_cache(UChar opcode) {
    return opcode == 0xc3 || opcode == 0x2b || opcode == 0xe7 || opcode == 0xf7;
}

static void two_byte(struct cursor *c, struct pc_instruction *out) {
    UChar opcode = *c->at++;
    if (opcode == 0xae)
        group_15(c, out);
    else if (opcode == 0x0b || opcode == 0xb9 || opcode == 0xff)
        out->undefined = True;
    else /* with f3 and f2, e7 is a conversion: it stores nothing */
        out->nontemporal = stores_past_cache(opcode) && (opcode != 0xc3 || !c->size);
}

/* The map of opcodes that a VEX prefix names; the cursor ends behind the prefix. 1 is 0f. */
static UInt vex_map(struct cursor *c) {
    UInt map = *c->at == 0xc5 ? 1 : c->at[1] & 31;
    c->at += *c->at == 0xc5 ? 2 : 3;
    return map;
}

void pc_decode(const UChar *bytes, struct pc_instruction *out) {
    struct cursor c = {.at = bytes};
    *out = (struct pc_instruction){0};
    prefixes(&c);
    out->locked = c.lock;
    switch (*c.at) {
    case 0x0f:
        c.at++;
        two_byte(&c, out);
        break;
    case 0x86:
    case 0x87:
        out->locked = True;
        break;
    case 0xc4:
    case 0xc5:
        out->nontemporal = vex_map(&c) == 1 && *c.at != 0xc3 && stores_past_cache(*c.at);
        break;
    default:
        break;
    }
    out->length = (UInt)(c.at - bytes);
}

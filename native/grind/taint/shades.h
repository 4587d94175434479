/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shades: what generated code knows of the labels of a temporary.
 *
 * A shade has one lane for each 8 bytes of the value (one, if it is shorter): so what is copied through wide
 * registers keeps its labels apart. A lane is the union of up to two sets that temporaries hold, its atoms.
 * Unions are put off until someone needs a single set: most never are, as those of addresses and flags.
 */
#ifndef POWERCUT_GRIND_TAINT_SHADES_H
#define POWERCUT_GRIND_TAINT_SHADES_H

#include "taint.h"

#define PC_MOST_LANES 4u
#define PC_MOST_ATOMS 8u /* that one call unites */
#define PC_UNITED     16u

/* Temporaries of type I64 with a set in them; NULL: none. The first comes first. */
struct pc_lane {
    IRExpr *atoms[2];
};

struct pc_shade {
    UInt lanes;
    IRExpr *shadow; /* if it is what a general register holds: see registers.h; else NULL */
    struct pc_lane lane[PC_MOST_LANES];
};

struct pc_taint_pass {
    const IRSB *in;
    IRSB *out;
    Int shadow;              /* offset of the registers' labels in the guest state */
    struct pc_shade *shades; /* of each temporary of `in` */
    UInt room;
    Addr pc;
    const IRExpr *loaded; /* the address of the instruction's last load */
    struct pc_flags {
        Bool written[3];
        struct pc_lane operand[3];
    } flags;               /* see registers.h */
    struct pc_lane inputs; /* from before to after a call of one of Valgrind's helpers */
    /* The last unions that were made in this block. */
    struct {
        struct pc_lane of;
        IRExpr *set;
    } united[PC_UNITED];
    UInt united_next;
};

/* A list of atoms without double ones. */
struct pc_atoms {
    struct pc_taint_pass *pass;
    UInt count;
    IRExpr *list[PC_MOST_ATOMS];
};

UInt pc_lanes_of(IRType type);
struct pc_lane pc_lane_with(IRExpr *set);
Bool pc_lane_is_empty(const struct pc_lane *lane);

/* Adds a lane; what is too much is united at once. */
void pc_atoms_add(struct pc_atoms *atoms, const struct pc_lane *lane);
void pc_atoms_add_all(struct pc_atoms *atoms, const struct pc_shade *shade);
struct pc_lane pc_atoms_lane(struct pc_atoms *atoms);
struct pc_lane pc_lane_union(struct pc_taint_pass *pass, const struct pc_lane *a, const struct pc_lane *b);

/* The lane's set in one temporary, or a constant. */
IRExpr *pc_lane_set(struct pc_taint_pass *pass, const struct pc_lane *lane);
/* Two lanes in one word. */
IRExpr *pc_lane_pair(struct pc_taint_pass *pass, const struct pc_lane *low, const struct pc_lane *high);
/* Two atoms or sets (NULL: none) in one word, to be handed to a helper. */
IRExpr *pc_packed(struct pc_taint_pass *pass, IRExpr *low, IRExpr *high);
/* In a helper: the union of both. */
pc_labels pc_unpacked(ULong packed);
/* Not 0 if one of them is not 0; `sum` may be NULL. */
IRExpr *pc_either(struct pc_taint_pass *pass, IRExpr *sum, IRExpr *set);

/* A call of a helper with a result. 0 if the word `look` is 0, or if the condition does not hold (NULL:
 * none).
 */
IRExpr *pc_answer(struct pc_taint_pass *pass, const HChar *name, void *helper, IRExpr **arguments,
                  IRExpr *look, IRExpr *condition);

#endif

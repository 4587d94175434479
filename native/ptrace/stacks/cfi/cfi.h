/* Call frame information: from a program counter to the rule that finds the caller's registers.
 *
 * Before: an .eh_frame section (and perhaps its .eh_frame_hdr) as bytes in our own memory; nothing in it is
 * trusted. After pc_cfi_row: a row that stands alone except for expressions, which it names by their offset
 * in the same .eh_frame; so a row may be cached for as long as the section is kept.
 */
#ifndef POWERCUT_STACKS_CFI_CFI_H
#define POWERCUT_STACKS_CFI_CFI_H

#include <stdbool.h>
#include <stdint.h>

/* DWARF register numbers of x86-64. Higher ones (vector registers) are of no use to find the caller. */
enum { CFI_RBX = 3, CFI_RBP = 6, CFI_RSP = 7, CFI_RA = 16, CFI_REGISTERS = 17 };

struct cfi_section {
    uint8_t *data; /* owned by the module; 0: there is none */
    uint64_t size;
    uint64_t address; /* in the p_vaddr space of the file */
};

struct cfi_index_entry {
    uint64_t start;
    uint64_t stop;
    uint64_t fde; /* offset in .eh_frame */
};

struct cfi_tables {
    struct cfi_section frame;  /* .eh_frame */
    struct cfi_section header; /* .eh_frame_hdr */
    uint64_t table;            /* offset of the search table in header, 0: not usable, use the index */
    uint64_t table_count;
    struct cfi_index_entry *index; /* built by a scan of .eh_frame when there is no table; sorted */
    uint64_t index_count;
    bool index_built;
};

enum cfi_kind {
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_OFFSET,     /* saved at CFA + value */
    CFI_VAL_OFFSET, /* is CFA + value */
    CFI_REGISTER,   /* is in register `value` */
    CFI_EXPRESSION, /* saved at the address that the expression gives */
    CFI_VAL_EXPRESSION,
};

struct cfi_rule {
    uint8_t reg;
    uint8_t kind;
    int32_t value; /* for expressions: offset in .eh_frame of the block (ULEB length, then operations) */
};

struct cfi_row {
    bool cfa_expression;
    bool signal; /* the frame was entered by a signal: the caller's pc is exact, not a return address */
    uint8_t cfa_reg;
    uint8_t count; /* of rules; registers without a rule keep their value */
    int32_t cfa_value;
    struct cfi_rule rules[CFI_REGISTERS];
};

/* Prepares the search table of tables->header, as far as it is usable. */
void pc_cfi_open(struct cfi_tables *tables);
void pc_cfi_close(struct cfi_tables *tables);

/* Fills *row for the instruction at `address` (p_vaddr space). False: no usable information. */
bool pc_cfi_row(struct cfi_tables *tables, uint64_t address, struct cfi_row *row);

/* What the search found; shared between stacks/cfi/index.c (finds) and stacks/cfi/cfi.c (interprets). */
struct cfi_fde {
    uint64_t start, stop;          /* addresses covered */
    uint64_t code, code_end;       /* call frame instructions, offsets in .eh_frame */
    uint64_t initial, initial_end; /* those of the CIE */
    uint64_t code_align;
    int64_t data_align;
    uint8_t pointer_encoding;
    bool signal;
    bool augmented; /* augmentation data stand before the instructions */
};

bool pc_cfi_find(struct cfi_tables *tables, uint64_t address, struct cfi_fde *fde);

#endif

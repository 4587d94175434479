/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Instructions that touch mapped memory, named so that other runs know them, too. */
#ifndef POWERCUT_GRIND_RACE_SITES_H
#define POWERCUT_GRIND_RACE_SITES_H

#include "board_access.h"

#define PC_COUNTED_THREADS 16u /* threads whose occurrences are counted apart */

struct pc_access_site {
    struct pc_access_site *next;
    UWord pc;
    struct pc_board_site name;
    UInt number;                          /* from 1, in order of first use */
    UInt told;                            /* its index on the board; 0: none yet, or no room */
    Bool trusted;                         /* code of a library whose loads are its own affair */
    UInt occurrences[PC_COUNTED_THREADS]; /* by thread index - 1 */
};

/* What an instruction is in every run; whether it is code of a library that is trusted, or of the system. */
struct pc_board_site pc_site_name(Addr pc, Bool *trusted, Bool *system);

/* The path of the module that an address of code lies in, NULL: none; and how far it was moved from where its
 * file says. */
const HChar *pc_site_module(Addr pc, Addr *bias);

/* The site of an instruction; the same one each time. */
struct pc_access_site *pc_site_at(Addr pc);
struct pc_access_site *pc_site_by_number(UInt number);
/* The site's index on the board, where it stands from now on. */
UInt pc_site_told(struct pc_access_site *site);

static inline UInt *pc_site_occurrences(struct pc_access_site *site, UInt thread) {
    return &site->occurrences[(thread - 1) % PC_COUNTED_THREADS];
}

/* Mappings have changed: what is known of addresses of code may be wrong. */
void pc_sites_mapped(void);

/* A block of code is translated. */
void pc_block_seen(Addr pc);

#endif

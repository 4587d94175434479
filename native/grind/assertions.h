/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the program itself says of its memory (powercut.h) goes into the trace, between its stores. */
#ifndef POWERCUT_GRIND_ASSERTIONS_H
#define POWERCUT_GRIND_ASSERTIONS_H

#include "core.h"

/* A block that ends in a client request at `pc`. Only that of powercut.h is answered: if others were,
 * libraries would do other things than usual. */
void pc_instrument_request(IRSB *block, Addr pc);

#endif

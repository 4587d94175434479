/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds to a block of the program's code what records its memory events. */
#ifndef POWERCUT_GRIND_INSTRUMENT_H
#define POWERCUT_GRIND_INSTRUMENT_H

#include "core.h"

IRSB *pc_instrument(VgCallbackClosure *closure, IRSB *in, const VexGuestLayout *layout,
                    const VexGuestExtents *extents, const VexArchInfo *host, IRType guest_word,
                    IRType host_word);

#endif

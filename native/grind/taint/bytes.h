/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The labels of the 8 bytes of a word of memory, in one number. */
#ifndef POWERCUT_GRIND_TAINT_BYTES_H
#define POWERCUT_GRIND_TAINT_BYTES_H

#include "taint.h"

/* 0: none has labels. A set: all have it. Else it stands for 8 sets. */
typedef UInt pc_word;

/* What the bytes [from, to) have, and the word in which they have that instead. */
pc_labels pc_word_read(pc_word word, UInt from, UInt to);
pc_word pc_word_with(pc_word word, UInt from, UInt to, pc_labels labels);

#endif

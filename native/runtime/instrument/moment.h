/* One instruction of an instrumented program, about to be executed: what entries.S leaves on the stack. */
#ifndef POWERCUT_MOMENT_H
#define POWERCUT_MOMENT_H

#include "codes.h"

#include <stdbool.h>
#include <stdint.h>

struct moment {
    uint64_t address, flags, r11, r10, r9, r8, rsi, rdx, rcx;
    uint64_t code; /* codes.h */
    uint64_t rax;
    uint64_t caller; /* behind the call: the byte before is on the instruction's line */
};

static inline unsigned way_of(const struct moment *moment) {
    return moment->code >> 8 & 0xff;
}

/* How many bytes the instruction is about; false if registers alone do not tell. */
static inline bool size_of(const struct moment *moment, uint64_t *size) {
    uint64_t number = moment->code >> 16;
    switch (way_of(moment)) {
    case AT_COPY:
        *size = moment->rdx;
        return true;
    case AT_ZERO:
        *size = moment->rsi;
        return true;
    case AT_REPEAT:
        *size = moment->rcx * number;
        return true;
    case AT_STRING:
        return false;
    default:
        *size = number;
        return true;
    }
}

/* 0: done, or there is nothing to do; 1: to be done slowly. Touches no vector register. */
int pc_record_moment(const struct moment *moment);
void pc_record_moment_slowly(const struct moment *moment);

extern uint32_t pc_state_size, pc_has_xsave; /* of the vector state of this processor */

#endif

/* powercut-lines: which functions, files and lines of the source stand behind addresses of one file.
 *
 * Parts: units.c finds the unit of an address, scopes.c its function and what was inlined there, rows.c its
 * row of the line table. Debug information is read by libdw of elfutils, and only where it is asked for. It
 * may be damaged: what cannot be read is not known, and recursion has an end. */
#ifndef POWERCUT_LINES_H
#define POWERCUT_LINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

#define PC_DEEPEST 256 /* of scopes in scopes; compilers stay far below */

struct pc_function {
    Dwarf_Addr start, end;
    Dwarf_Die die;
};

/* One unit of compilation. Its functions are listed when the first address in it is looked up. */
struct pc_unit {
    Dwarf_Die die;   /* where functions are: of split debug information, in a file of its own */
    Dwarf_Die lines; /* where the line table is */
    bool listed;
    struct pc_function *functions;
    size_t count, capacity;
};

struct pc_span {
    Dwarf_Addr start, end;
    struct pc_unit *unit;
};

struct pc_units {
    struct pc_unit *all;
    size_t count, capacity;
    struct pc_span *spans; /* by their starts */
    size_t span_count, span_capacity;
};

/* A place in the source; `file` is NULL and numbers are 0 where they are not known. A file that is named from
 * where the compiler ran is one in `folder`. */
struct pc_place {
    const char *folder, *file;
    int line, column;
};

/* units.c */
bool pc_units_read(Dwarf *debug, struct pc_units *units);
struct pc_unit *pc_unit_at(struct pc_units *units, Dwarf_Addr address);
void pc_units_free(struct pc_units *units);

/* scopes.c: the functions around an address, the innermost inlined one first; how many there are. */
size_t pc_scopes_at(struct pc_unit *unit, Dwarf_Addr address, Dwarf_Die scopes[PC_DEEPEST]);
const char *pc_scope_name(Dwarf_Die *scope);

/* rows.c: where the instruction at an address was written, and where an inlined function was called. */
struct pc_place pc_place_at(struct pc_unit *unit, Dwarf_Addr address);
struct pc_place pc_place_of_call(struct pc_unit *unit, Dwarf_Die *inlined);

/* Room for one more in an array; false if there is no memory. */
bool pc_room(void **array, size_t count, size_t *capacity, size_t size);

#endif

/* powercut-lines FILE: reads addresses of FILE from the standard input, as hexadecimal numbers, and says for
 * each what stands there: the address, how many functions, and for each of them, the innermost inlined one
 * first, its name (as linkers know it, if it has such a name), file, line and column. Every part ends with a
 * NUL; what is not known is empty or 0.
 *
 * It is a program of its own because debug information is large, and made by others: what goes wrong here
 * takes no report with it. It ends with 1 if FILE has none that can be read. */
#include "lines.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void put_scope(const char *name, struct pc_place place) {
    printf("%s%c", name == NULL ? "" : name, 0);
    if (place.folder != NULL)
        printf("%s/", place.folder);
    printf("%s%c%d%c%d%c", place.file == NULL ? "" : place.file, 0, place.line, 0, place.column, 0);
}

static void answer(struct pc_units *units, Dwarf_Addr address) {
    Dwarf_Die scopes[PC_DEEPEST];
    struct pc_unit *unit = pc_unit_at(units, address);
    size_t count = unit == NULL ? 0 : pc_scopes_at(unit, address, scopes);
    struct pc_place place = unit == NULL ? (struct pc_place){0} : pc_place_at(unit, address);
    bool bare = count == 0 && place.line > 0; /* written by hand, in assembler */
    printf("%" PRIx64 "%c%zu%c", address, 0, count + bare, 0);
    if (bare)
        put_scope(NULL, place);
    for (size_t i = 0; i < count; i++) {
        put_scope(pc_scope_name(&scopes[i]), place);
        place = pc_place_of_call(unit, &scopes[i]);
    }
}

int main(int count, char **arguments) {
    int file = count == 2 ? open(arguments[1], O_RDONLY | O_CLOEXEC) : -1;
    Dwarf *debug = file < 0 ? NULL : dwarf_begin(file, DWARF_C_READ);
    struct pc_units units;
    if (debug == NULL || !pc_units_read(debug, &units))
        return 1;
    char line[32];
    while (fgets(line, sizeof line, stdin) != NULL)
        answer(&units, strtoull(line, NULL, 16));
    pc_units_free(&units);
    dwarf_end(debug);
    return fflush(stdout) == 0 ? 0 : 1;
}

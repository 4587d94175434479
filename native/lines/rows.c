/* Places in the source: rows of a line table, and the calls of inlined functions. */
#include "lines.h"

#include <dwarf.h>

static Dwarf_Addr address_of(Dwarf_Lines *lines, size_t number) {
    Dwarf_Addr address = 0;
    dwarf_lineaddr(dwarf_onesrcline(lines, number), &address);
    return address;
}

/* The last row at or before an address: where several begin at the same one, all but the last are empty. */
static Dwarf_Line *row_at(Dwarf_Lines *lines, size_t count, Dwarf_Addr address) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (address_of(lines, middle) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 ? dwarf_onesrcline(lines, low - 1) : NULL;
}

static struct pc_place place_in(struct pc_unit *unit, const char *file) {
    Dwarf_Attribute attribute;
    bool whole = file == NULL || file[0] == '/';
    const char *folder =
        whole ? NULL : dwarf_formstring(dwarf_attr(&unit->lines, DW_AT_comp_dir, &attribute));
    return (struct pc_place){.folder = folder, .file = file};
}

struct pc_place pc_place_at(struct pc_unit *unit, Dwarf_Addr address) {
    struct pc_place nowhere = {0};
    Dwarf_Lines *lines;
    size_t count;
    if (dwarf_getsrclines(&unit->lines, &lines, &count) != 0)
        return nowhere;
    Dwarf_Line *row = row_at(lines, count, address);
    bool ended = false;
    if (row == NULL || dwarf_lineendsequence(row, &ended) != 0 || ended)
        return nowhere;
    struct pc_place place = place_in(unit, dwarf_linesrc(row, NULL, NULL));
    if (dwarf_lineno(row, &place.line) != 0 || place.line <= 0)
        return nowhere; /* code that no line of the source stands for */
    if (dwarf_linecol(row, &place.column) != 0)
        place.column = 0;
    return place;
}

static Dwarf_Word number(Dwarf_Die *die, unsigned int name) {
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, name, &attribute), &value) == 0 ? value : 0;
}

struct pc_place pc_place_of_call(struct pc_unit *unit, Dwarf_Die *inlined) {
    Dwarf_Files *files;
    size_t count;
    if (dwarf_getsrcfiles(&unit->lines, &files, &count) != 0)
        return (struct pc_place){0};
    struct pc_place place =
        place_in(unit, dwarf_filesrc(files, number(inlined, DW_AT_call_file), NULL, NULL));
    place.line = (int)number(inlined, DW_AT_call_line);
    place.column = (int)number(inlined, DW_AT_call_column);
    return place;
}

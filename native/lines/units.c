/* The units of compilation by the addresses of their code.
 *
 * Each unit says itself which code is its own. .debug_aranges would say it for all of them, but clang writes
 * none. */
#include "lines.h"

#include <dwarf.h>
#include <stdlib.h>

bool pc_room(void **array, size_t count, size_t *capacity, size_t size) {
    if (count < *capacity)
        return true;
    size_t larger = *capacity == 0 ? 64 : *capacity * 2;
    void *moved = realloc(*array, larger * size);
    if (moved == NULL)
        return false;
    *array = moved;
    *capacity = larger;
    return true;
}

static bool add_unit(struct pc_units *units, const Dwarf_Die *lines, const Dwarf_Die *split) {
    if (!pc_room((void **)&units->all, units->count, &units->capacity, sizeof *units->all))
        return false;
    bool is_split = split->addr != NULL;
    units->all[units->count++] = (struct pc_unit){.die = is_split ? *split : *lines, .lines = *lines};
    return true;
}

static bool add_spans(struct pc_units *units, struct pc_unit *unit) {
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&unit->lines, at, &base, &start, &end)) > 0) {
        if (start == 0 || start >= end)
            continue; /* the linker has left this code out */
        if (!pc_room((void **)&units->spans, units->span_count, &units->span_capacity, sizeof *units->spans))
            return false;
        units->spans[units->span_count++] = (struct pc_span){start, end, unit};
    }
    return true;
}

/* Of a function that several units hold, in a header for one, the linker keeps the first. It lets the others
 * say that they have the same code if theirs is as large, so the first unit is to be found first, which is
 * from the end. */
static int by_start(const void *one, const void *other) {
    const struct pc_span *mine = one, *its = other;
    if (mine->start != its->start)
        return mine->start > its->start ? 1 : -1;
    return (mine->unit < its->unit) - (mine->unit > its->unit);
}

bool pc_units_read(Dwarf *debug, struct pc_units *units) {
    Dwarf_CU *unit = NULL;
    Dwarf_Die lines, split;
    uint8_t type;
    *units = (struct pc_units){0};
    while (dwarf_get_units(debug, unit, &unit, NULL, &type, &lines, &split) == 0) {
        bool code = type == DW_UT_compile || type == DW_UT_skeleton;
        if (code && !add_unit(units, &lines, &split))
            return false;
    }
    for (size_t i = 0; i < units->count; i++) { /* now that they do not move any more */
        if (!add_spans(units, &units->all[i]))
            return false;
    }
    if (units->span_count > 0)
        qsort(units->spans, units->span_count, sizeof *units->spans, by_start);
    return true;
}

struct pc_unit *pc_unit_at(struct pc_units *units, Dwarf_Addr address) {
    size_t low = 0, high = units->span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (units->spans[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0) { /* spans do not overlap, as a rule */
        if (address < units->spans[low].end)
            return units->spans[low].unit;
    }
    return NULL;
}

void pc_units_free(struct pc_units *units) {
    for (size_t i = 0; i < units->count; i++)
        free(units->all[i].functions);
    free(units->all);
    free(units->spans);
    *units = (struct pc_units){0};
}

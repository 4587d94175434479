/* The function at an address, and the functions that were inlined there. */
#include "lines.h"

#include <dwarf.h>
#include <stdlib.h>

/* Code of its own may stand in functions inside of these. */
static bool holds_functions(int tag) {
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subprogram:
    case DW_TAG_lexical_block:
        return true;
    default:
        return false;
    }
}

static void add_function(struct pc_unit *unit, Dwarf_Die *die) {
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        if (start == 0 || start >= end)
            continue; /* the linker has left it out */
        if (!pc_room((void **)&unit->functions, unit->count, &unit->capacity, sizeof *unit->functions))
            return;
        unit->functions[unit->count++] = (struct pc_function){start, end, *die};
    }
}

static void list_functions(struct pc_unit *unit, Dwarf_Die *parent, int depth) {
    Dwarf_Die die;
    if (depth >= PC_DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_subprogram)
            add_function(unit, &die);
        if (holds_functions(tag))
            list_functions(unit, &die, depth + 1);
    } while (dwarf_siblingof(&die, &die) == 0);
}

static int by_start(const void *one, const void *other) {
    Dwarf_Addr mine = ((const struct pc_function *)one)->start,
               its = ((const struct pc_function *)other)->start;
    return (mine > its) - (mine < its);
}

static Dwarf_Die *function_at(struct pc_unit *unit, Dwarf_Addr address) {
    if (!unit->listed) {
        unit->listed = true;
        list_functions(unit, &unit->die, 0);
        if (unit->count > 0)
            qsort(unit->functions, unit->count, sizeof *unit->functions, by_start);
    }
    size_t low = 0, high = unit->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->functions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    while (low-- > 0) {
        if (address < unit->functions[low].end)
            return &unit->functions[low].die;
    }
    return NULL;
}

/* Adds what was inlined at an address somewhere below `parent`, the innermost first. True if that is the
 * right branch. It is the innermost block that counts: compilers write blocks that do not cover what is
 * inside of them. */
static bool add_inlined(Dwarf_Die *parent, Dwarf_Addr address, Dwarf_Die *scopes, size_t *count, int depth) {
    Dwarf_Die die;
    if (depth >= PC_DEEPEST - 1 || dwarf_child(parent, &die) != 0)
        return false;
    do {
        int tag = dwarf_tag(&die);
        bool inlined = tag == DW_TAG_inlined_subroutine;
        if (!inlined && tag != DW_TAG_lexical_block && tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
            continue;
        if (add_inlined(&die, address, scopes, count, depth + 1) || dwarf_haspc(&die, address) > 0) {
            if (inlined)
                scopes[(*count)++] = die;
            return true;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
    return false;
}

size_t pc_scopes_at(struct pc_unit *unit, Dwarf_Addr address, Dwarf_Die scopes[PC_DEEPEST]) {
    size_t count = 0;
    Dwarf_Die *function = function_at(unit, address);
    if (function == NULL)
        return 0;
    add_inlined(function, address, scopes, &count, 0);
    scopes[count++] = *function;
    return count;
}

static const char *text(Dwarf_Die *die, unsigned int name) {
    Dwarf_Attribute attribute;
    return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

const char *pc_scope_name(Dwarf_Die *scope) {
    const char *name = text(scope, DW_AT_linkage_name);
    if (name == NULL)
        name = text(scope, DW_AT_MIPS_linkage_name);
    return name != NULL ? name : text(scope, DW_AT_name);
}

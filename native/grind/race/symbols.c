/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: the path of an ELF file, which may be anything. After: its functions were told.
 *
 * The dynamic table is small and always there; the full one is only read where there is no dynamic one.
 */
#include "symbols.h"

#include <elf.h>

#define MOST_BYTES (64u << 20) /* of a table */

/* The part of a file, to be freed; NULL if it is not there. */
static void *part_of(Int file, ULong offset, ULong size) {
    if (size == 0 || size > MOST_BYTES || VG_(lseek)(file, (Off64T)offset, VKI_SEEK_SET) != (Off64T)offset)
        return NULL;
    UChar *bytes = VG_(malloc)("powercut.symbols", size + 1);
    ULong got = 0;
    while (got < size) {
        Int more = VG_(read)(file, bytes + got, (Int)(size - got));
        if (more <= 0)
            break;
        got += (ULong)more;
    }
    bytes[size] = '\0'; /* so that the last name of a table ends */
    if (got == size)
        return bytes;
    VG_(free)(bytes);
    return NULL;
}

static void tell(const Elf64_Sym *symbols, SizeT count, const HChar *names, SizeT names_size,
                 void (*found)(const HChar *name, Addr offset, void *data), void *data) {
    for (SizeT i = 0; i < count; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && symbols[i].st_value != 0 &&
            symbols[i].st_name < names_size)
            found(names + symbols[i].st_name, symbols[i].st_value, data);
}

/* The table of symbols to read, NULL: none. */
static const Elf64_Shdr *table_of(const Elf64_Shdr *sections, UInt count) {
    const Elf64_Shdr *found = NULL;
    for (UInt i = 0; i < count; i++)
        if (sections[i].sh_type == SHT_DYNSYM || (sections[i].sh_type == SHT_SYMTAB && found == NULL))
            found = &sections[i];
    return found != NULL && found->sh_link < count && found->sh_entsize == sizeof(Elf64_Sym) ? found : NULL;
}

static void read_table(Int file, const Elf64_Shdr *table, const Elf64_Shdr *strings,
                       void (*found)(const HChar *name, Addr offset, void *data), void *data) {
    Elf64_Sym *symbols = part_of(file, table->sh_offset, table->sh_size);
    HChar *names = part_of(file, strings->sh_offset, strings->sh_size);
    if (symbols != NULL && names != NULL)
        tell(symbols, table->sh_size / sizeof(*symbols), names, strings->sh_size, found, data);
    if (symbols != NULL)
        VG_(free)(symbols);
    if (names != NULL)
        VG_(free)(names);
}

void pc_symbols_each(const HChar *path, void (*found)(const HChar *name, Addr offset, void *data),
                     void *data) {
    Elf64_Ehdr header;
    SysRes opened = VG_(open)(path, VKI_O_RDONLY, 0);
    if (sr_isError(opened))
        return;
    Int file = (Int)sr_Res(opened);
    Bool known = VG_(read)(file, &header, sizeof(header)) == sizeof(header) &&
                 VG_(memcmp)(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                 header.e_shentsize == sizeof(Elf64_Shdr);
    Elf64_Shdr *sections =
        known ? part_of(file, header.e_shoff, (ULong)header.e_shnum * sizeof(*sections)) : NULL;
    const Elf64_Shdr *table = sections != NULL ? table_of(sections, header.e_shnum) : NULL;
    if (table != NULL)
        read_table(file, table, &sections[table->sh_link], found, data);
    if (sections != NULL)
        VG_(free)(sections);
    VG_(close)(file);
}

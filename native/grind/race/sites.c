/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: an address of code. After: its module, known by the hash of its path, and its offset there as
 * traces have it (p_vaddr space): the address less how far the module was moved, which the program headers at
 * its start tell.
 */
#include "sites.h"

#include "pub_tool_hashtable.h"

#include <elf.h>

#define RECENT 4096u

struct module {
    Addr start, end; /* of the mapping that was asked for */
    Addr bias;
    const HChar *path; /* Valgrind keeps it */
    ULong hash;
    Bool trusted, system;
};

/* Most questions are about the module of the one before. Its end is the last byte. */
static struct module last = {.start = 1};
static VgHashTable *sites;
static struct pc_access_site *recent[RECENT];
static struct pc_access_site **numbered;
static UInt count, room;

static ULong hash_of(const HChar *path) {
    ULong hash = 0xcbf29ce484222325ull;
    for (; *path != '\0'; path++)
        hash = (hash ^ (UChar)*path) * 0x100000001b3ull;
    return hash;
}

/* Libraries of PMDK, whose logs and allocator read what they have just stored, and the dynamic linker. */
static Bool is_trusted(const HChar *name) {
    return VG_(strncmp)(name, "libpmem", 7) == 0 || VG_(strncmp)(name, "ld-linux", 8) == 0;
}

static Bool is_system(const HChar *path) {
    return VG_(strncmp)(path, "/lib", 4) == 0 || VG_(strncmp)(path, "/usr/lib", 8) == 0;
}

/* The mapping of the file's first bytes. */
static const NSegment *first_of(const NSegment *segment) {
    const NSegment *at = segment;
    while (at != NULL && at->offset != 0) {
        at = at->start > 0 ? VG_(am_find_nsegment)(at->start - 1) : NULL;
        if (at == NULL || at->kind != SkFileC || at->ino != segment->ino || at->dev != segment->dev)
            return NULL;
    }
    return at;
}

static Addr bias_of(const NSegment *segment) {
    const NSegment *first = first_of(segment);
    Addr start_of_file = segment->start - (Addr)segment->offset;
    if (first == NULL || !first->hasR)
        return start_of_file;
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)first->start;
    SizeT size = first->end + 1 - first->start;
    if (size < sizeof(*header) || VG_(memcmp)(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phoff + header->e_phnum * sizeof(Elf64_Phdr) > size)
        return start_of_file;
    const Elf64_Phdr *part = (const Elf64_Phdr *)(first->start + header->e_phoff);
    for (UInt i = 0; i < header->e_phnum; i++)
        if (part[i].p_type == PT_LOAD)
            return first->start - (part[i].p_vaddr - part[i].p_offset);
    return start_of_file;
}

void pc_sites_mapped(void) {
    last = (struct module){.start = 1};
}

static const struct module *module_of(Addr pc) {
    if (last.start <= pc && pc <= last.end)
        return &last;
    const NSegment *segment = VG_(am_find_nsegment)(pc);
    const HChar *path = segment != NULL && segment->kind == SkFileC ? VG_(am_get_filename)(segment) : NULL;
    if (path == NULL)
        return NULL;
    const HChar *slash = VG_(strrchr)(path, '/');
    last = (struct module){.start = segment->start,
                           .end = segment->end,
                           .bias = bias_of(segment),
                           .path = path,
                           .hash = hash_of(path),
                           .trusted = is_trusted(slash != NULL ? slash + 1 : path),
                           .system = is_system(path)};
    return &last;
}

const HChar *pc_site_module(Addr pc, Addr *bias) {
    const struct module *module = module_of(pc);
    *bias = module != NULL ? module->bias : 0;
    return module != NULL ? module->path : NULL;
}

struct pc_board_site pc_site_name(Addr pc, Bool *trusted, Bool *system) {
    const struct module *module = module_of(pc);
    *trusted = module != NULL && module->trusted;
    *system = module != NULL && module->system;
    if (module == NULL)
        return (struct pc_board_site){.module = 0, .offset = pc};
    return (struct pc_board_site){.module = module->hash, .offset = pc - module->bias};
}

static struct pc_access_site *add(Addr pc) {
    struct pc_access_site *site = VG_(calloc)("powercut.site", 1, sizeof(*site));
    Bool system;
    site->pc = pc;
    site->name = pc_site_name(pc, &site->trusted, &system);
    if (count + 1 >= room) {
        room = room == 0 ? 256 : room * 2;
        numbered = VG_(realloc)("powercut.sites", numbered, room * sizeof(*numbered));
    }
    site->number = ++count;
    numbered[count] = site;
    VG_(HT_add_node)(sites, site);
    return site;
}

struct pc_access_site *pc_site_at(Addr pc) {
    struct pc_access_site **place = &recent[pc_mix(0, pc) >> 32 & (RECENT - 1)];
    if (*place != NULL && (*place)->pc == pc)
        return *place;
    if (sites == NULL)
        sites = VG_(HT_construct)("powercut.sites");
    struct pc_access_site *found = VG_(HT_lookup)(sites, pc);
    return *place = found != NULL ? found : add(pc);
}

struct pc_access_site *pc_site_by_number(UInt number) {
    return numbered[number];
}

UInt pc_site_told(struct pc_access_site *site) {
    if (site->told == 0 && pc_board->site_count + 1 < PC_BOARD_SITES) {
        site->told = pc_board->site_count + 1;
        pc_board->sites[site->told] = site->name;
        pc_board->site_count++;
    }
    return site->told;
}

void pc_block_seen(Addr pc) {
    Bool trusted, system;
    struct pc_board_site name = pc_site_name(pc, &trusted, &system);
    if (!system && name.module != 0)
        pc_board->blocks += pc_board_set(pc_board->block_bitmap, pc_mix(name.module, name.offset));
}

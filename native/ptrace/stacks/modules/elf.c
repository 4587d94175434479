/* Reads what unwinding needs from an ELF file: load segments, build-id, call frame information, Python's
 * symbols.
 *
 * Before: an open regular file of unknown content. After: a module whose fields are consistent among
 * themselves; whatever is missing or malformed is left empty. Everything is copied by pread: see
 * stacks/modules/module.h for why not mapped.
 */
#include "stacks/modules/module.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_HEADERS 512
#define MAX_SECTION (1ull << 30)

static bool read_at(int fd, void *out, uint64_t length, uint64_t offset) {
    return offset <= INT64_MAX && pread(fd, out, length, (off_t)offset) == (ssize_t)length;
}

/* A malloc'ed copy of part of the file; NULL if it is not all there. */
static void *copy_of(int fd, uint64_t file_size, uint64_t offset, uint64_t length) {
    if (length == 0 || length > MAX_SECTION || offset > file_size || length > file_size - offset)
        return 0;
    void *data = malloc(length);
    if (data && !read_at(fd, data, length, offset)) {
        free(data);
        return 0;
    }
    return data;
}

/* From an address to its place in the file; *left: bytes of the segment from there on. */
static bool offset_of_address(const struct pc_module *m, uint64_t address, uint64_t *offset, uint64_t *left) {
    for (unsigned i = 0; i < m->load_count; i++) {
        const struct pc_module_load *load = &m->loads[i];
        if (address >= load->address && address - load->address < load->size) {
            *offset = load->offset + (address - load->address);
            *left = load->size - (address - load->address);
            return true;
        }
    }
    return false;
}

static void take_build_id(struct pc_module *m, int fd, const Elf64_Phdr *p) {
    uint64_t size = p->p_filesz < 65536 ? p->p_filesz : 65536;
    uint8_t *notes = copy_of(fd, m->size, p->p_offset, size);
    if (!notes)
        return;
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) <= size;) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        uint64_t name = at + sizeof note, data = name + ((note.n_namesz + 3ull) & ~3ull);
        uint64_t next = data + ((note.n_descsz + 3ull) & ~3ull);
        if (data + note.n_descsz > size)
            break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + name, "GNU", 4)) {
            unsigned count = note.n_descsz < 32 ? note.n_descsz : 32;
            for (unsigned i = 0; i < count; i++) {
                m->build_id[2 * i] = "0123456789abcdef"[notes[data + i] >> 4];
                m->build_id[2 * i + 1] = "0123456789abcdef"[notes[data + i] & 15];
            }
        }
        at = next;
    }
    free(notes);
}

/* Finds a section by name. Section headers may be stripped: then false. */
static bool find_section(const struct pc_module *m, int fd, const Elf64_Ehdr *eh, const char *name,
                         Elf64_Shdr *out) {
    bool found = false;
    if (eh->e_shentsize != sizeof(Elf64_Shdr) || eh->e_shstrndx >= eh->e_shnum)
        return false;
    Elf64_Shdr *headers = copy_of(fd, m->size, eh->e_shoff, (uint64_t)eh->e_shnum * sizeof *headers);
    if (!headers)
        return false;
    uint64_t names_size = headers[eh->e_shstrndx].sh_size;
    char *names = copy_of(fd, m->size, headers[eh->e_shstrndx].sh_offset, names_size);
    uint64_t length = strlen(name) + 1;
    for (unsigned i = 0; names && i < eh->e_shnum && !found; i++) {
        uint64_t at = headers[i].sh_name;
        if (at >= names_size || length > names_size - at || memcmp(names + at, name, length) != 0)
            continue;
        *out = headers[i];
        found = true;
    }
    free(names);
    free(headers);
    return found;
}

static void take_section(struct pc_module *m, int fd, struct cfi_section *section, uint64_t offset,
                         uint64_t size, uint64_t address) {
    section->data = copy_of(fd, m->size, offset, size);
    section->size = section->data ? size : 0;
    section->address = address;
}

/* Where .eh_frame starts according to .eh_frame_hdr: a 4-byte relative pointer in all that linkers write. */
static bool frame_address(const struct cfi_section *header, uint64_t *address) {
    int32_t relative;
    if (header->size < 8 || header->data[1] != 0x1b)
        return false;
    memcpy(&relative, header->data + 4, 4);
    *address = header->address + 4 + (uint64_t)(int64_t)relative;
    return true;
}

static void take_cfi(struct pc_module *m, int fd, const Elf64_Ehdr *eh, const Elf64_Phdr *eh_frame_hdr) {
    struct cfi_tables *cfi = &m->cfi;
    uint64_t address, offset, left;
    Elf64_Shdr section;
    if (eh_frame_hdr)
        take_section(m, fd, &cfi->header, eh_frame_hdr->p_offset, eh_frame_hdr->p_filesz,
                     eh_frame_hdr->p_vaddr);
    if (find_section(m, fd, eh, ".eh_frame", &section) && section.sh_type != SHT_NOBITS)
        take_section(m, fd, &cfi->frame, section.sh_offset, section.sh_size, section.sh_addr);
    else if (frame_address(&cfi->header, &address) && offset_of_address(m, address, &offset, &left))
        take_section(m, fd, &cfi->frame, offset, left, address);
    if (cfi->frame.size > INT32_MAX) /* rows hold offsets of expressions in 32 bits */
        cfi->frame.size = INT32_MAX;
    pc_cfi_open(cfi);
}

struct dynamic {
    uint64_t symbols, strings, strings_size, hash;
};

static bool read_dynamic(struct pc_module *m, int fd, const Elf64_Phdr *p, struct dynamic *d) {
    uint64_t count = p->p_filesz / sizeof(Elf64_Dyn);
    Elf64_Dyn *entries = copy_of(fd, m->size, p->p_offset, count * sizeof *entries);
    memset(d, 0, sizeof *d);
    if (!entries)
        return false;
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == DT_SYMTAB)
            d->symbols = entries[i].d_un.d_ptr;
        else if (entries[i].d_tag == DT_STRTAB)
            d->strings = entries[i].d_un.d_ptr;
        else if (entries[i].d_tag == DT_STRSZ)
            d->strings_size = entries[i].d_un.d_val;
        else if (entries[i].d_tag == DT_GNU_HASH)
            d->hash = entries[i].d_un.d_ptr;
    }
    free(entries);
    return d->symbols && d->strings && d->hash;
}

static bool read_address(const struct pc_module *m, int fd, uint64_t address, void *out, uint64_t length) {
    uint64_t offset, left;
    return offset_of_address(m, address, &offset, &left) && length <= left &&
           read_at(fd, out, length, offset);
}

static bool symbol_is(const struct pc_module *m, int fd, const struct dynamic *d, const Elf64_Sym *s,
                      const char *name) {
    char text[64];
    uint64_t length = strlen(name) + 1;
    return length <= sizeof text && s->st_name < d->strings_size && s->st_shndx != SHN_UNDEF &&
           read_address(m, fd, d->strings + s->st_name, text, length) && memcmp(text, name, length) == 0;
}

/* Looks a dynamic symbol up by the GNU hash table, without reading the whole symbol table. 0: not there. */
static uint64_t symbol(const struct pc_module *m, int fd, const struct dynamic *d, const char *name) {
    uint32_t head[4], hash = 5381, index, chain;
    for (const char *c = name; *c; c++)
        hash = hash * 33 + (unsigned char)*c;
    if (!read_address(m, fd, d->hash, head, sizeof head) || head[0] == 0)
        return 0;
    uint64_t buckets = d->hash + 16 + 8ull * head[2], chains = buckets + 4ull * head[0];
    if (!read_address(m, fd, buckets + 4ull * (hash % head[0]), &index, 4) || index < head[1])
        return 0;
    for (unsigned steps = 0; steps < 4096; steps++, index++) {
        Elf64_Sym s;
        if (!read_address(m, fd, chains + 4ull * (index - head[1]), &chain, 4))
            return 0;
        if ((chain | 1) == (hash | 1) &&
            read_address(m, fd, d->symbols + (uint64_t)index * sizeof s, &s, sizeof s) &&
            symbol_is(m, fd, d, &s, name))
            return s.st_value;
        if (chain & 1)
            return 0;
    }
    return 0;
}

static void take_python(struct pc_module *m, int fd, const Elf64_Phdr *p) {
    struct dynamic d;
    if (!read_dynamic(m, fd, p, &d))
        return;
    m->py_runtime = symbol(m, fd, &d, "_PyRuntime");
    if (m->py_runtime) {
        m->py_version = symbol(m, fd, &d, "Py_Version");
        m->py_code_type = symbol(m, fd, &d, "PyCode_Type");
    }
}

static void take_loads(struct pc_module *m, const Elf64_Phdr *headers, unsigned count) {
    for (unsigned i = 0; i < count && m->load_count < PC_MODULE_LOADS; i++) {
        const Elf64_Phdr *p = &headers[i];
        bool sane = p->p_vaddr + p->p_filesz >= p->p_vaddr && p->p_offset + p->p_filesz >= p->p_offset;
        if (p->p_type != PT_LOAD || !sane)
            continue;
        m->loads[m->load_count++] =
            (struct pc_module_load){p->p_offset, p->p_vaddr, p->p_filesz, (p->p_flags & PF_X) != 0};
    }
}

void pc_module_parse(struct pc_module *m, int fd) {
    Elf64_Ehdr eh;
    if (!read_at(fd, &eh, sizeof eh, 0) || memcmp(eh.e_ident, ELFMAG, SELFMAG) != 0 ||
        eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_machine != EM_X86_64 ||
        eh.e_phentsize != sizeof(Elf64_Phdr) || eh.e_phnum > MAX_HEADERS)
        return;
    Elf64_Phdr *headers = copy_of(fd, m->size, eh.e_phoff, (uint64_t)eh.e_phnum * sizeof *headers);
    if (!headers)
        return;
    const Elf64_Phdr *eh_frame_hdr = 0;
    take_loads(m, headers, eh.e_phnum);
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        if (headers[i].p_type == PT_NOTE && !m->build_id[0])
            take_build_id(m, fd, &headers[i]);
        else if (headers[i].p_type == PT_GNU_EH_FRAME)
            eh_frame_hdr = &headers[i];
        else if (headers[i].p_type == PT_DYNAMIC)
            take_python(m, fd, &headers[i]);
    }
    take_cfi(m, fd, &eh, eh_frame_hdr);
    free(headers);
}

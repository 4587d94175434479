/* Finds the frame description entry of an address: by the binary search table of .eh_frame_hdr or, where a
 * linker left that out, by a sorted index that one scan of .eh_frame builds.
 *
 * Before: sections as read from the file. After: an entry whose address range holds the address and whose
 * offsets all lie in .eh_frame; or false.
 */
#include "stacks/cfi/cfi.h"
#include "stacks/cfi/cursor.h"

#include <stdlib.h>

enum {
    PE_OMIT = 0xff,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
    PE_FORM = 0x0f,
    PE_BASE = 0x70
};

/* One pointer of encoding `enc`; `place` is the address of the cursor, `data` that of .eh_frame_hdr. An
 * indirect pointer gives the address of the pointer: only personality routines use it, and those are skipped.
 */
static uint64_t read_encoded(struct cfi_cursor *c, uint8_t enc, uint64_t place, uint64_t data) {
    uint64_t value;
    if (enc == PE_OMIT)
        return 0;
    switch (enc & PE_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = cfi_u64(c);
        break;
    case 0x01:
        value = cfi_uleb(c);
        break;
    case 0x02:
        value = cfi_u16(c);
        break;
    case 0x03:
        value = cfi_u32(c);
        break;
    case 0x09:
        value = (uint64_t)cfi_sleb(c);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)cfi_u16(c);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)cfi_u32(c);
        break;
    default:
        c->bad = true;
        return 0;
    }
    if ((enc & PE_BASE) == PE_PCREL)
        return value + place;
    if ((enc & PE_BASE) == PE_DATAREL)
        return value + data;
    if ((enc & PE_BASE) != 0)
        c->bad = true; /* text- and function-relative and aligned pointers do not occur on x86-64 */
    return value;
}

static uint64_t offset_of(const struct cfi_section *s, const struct cfi_cursor *c) {
    return (uint64_t)(c->at - s->data);
}

/* The length field at `offset`; *end is set behind the entry, *id_at to the CIE pointer. False at the end. */
static bool entry_extent(const struct cfi_section *frame, uint64_t offset, uint64_t *id_at, uint64_t *end) {
    if (offset >= frame->size)
        return false;
    struct cfi_cursor c = cfi_cursor_of(frame->data + offset, frame->size - offset);
    uint64_t length = cfi_u32(&c);
    if (length == 0xffffffffu)
        length = cfi_u64(&c);
    *id_at = offset_of(frame, &c);
    if (c.bad || length < 4 || length > frame->size - *id_at)
        return false;
    *end = *id_at + length;
    return true;
}

/* The augmentation string tells what the augmentation data hold; only the letters with 'z' can be skipped. */
static bool read_augmentation(struct cfi_cursor *c, const char *letters, uint64_t place,
                              struct cfi_fde *fde) {
    fde->pointer_encoding = 0;
    fde->signal = false;
    fde->augmented = letters[0] == 'z';
    if (letters[0] != 'z')
        return letters[0] == '\0';
    uint64_t length = cfi_uleb(c);
    const uint8_t *start = c->at;
    if (c->bad || length > (uint64_t)(c->end - start))
        return false;
    struct cfi_cursor data = cfi_cursor_of(start, length);
    for (const char *l = letters + 1; *l; l++) {
        if (*l == 'R') {
            fde->pointer_encoding = cfi_u8(&data);
        } else if (*l == 'L') {
            cfi_u8(&data);
        } else if (*l == 'P') {
            uint8_t enc = cfi_u8(&data);
            read_encoded(&data, enc, place, 0);
        } else if (*l == 'S') {
            fde->signal = true;
        } else {
            break; /* unknown: what follows cannot be told, but 'z' says where the instructions start */
        }
    }
    cfi_skip(c, length);
    return !data.bad;
}

static bool read_cie(const struct cfi_section *frame, uint64_t offset, struct cfi_fde *fde) {
    uint64_t id_at, end;
    if (!entry_extent(frame, offset, &id_at, &end))
        return false;
    struct cfi_cursor c = cfi_cursor_of(frame->data + id_at, end - id_at);
    uint32_t id = cfi_u32(&c);
    uint8_t version = cfi_u8(&c);
    if (id != 0 || (version != 1 && version != 3 && version != 4))
        return false;
    const char *letters = (const char *)c.at;
    const uint8_t *nul = c.bad ? 0 : memchr(c.at, 0, (size_t)(c.end - c.at));
    if (!nul)
        return false;
    c.at = nul + 1;
    if (version == 4)
        cfi_skip(&c, 2); /* address and segment size */
    fde->code_align = cfi_uleb(&c);
    fde->data_align = cfi_sleb(&c);
    uint64_t ra = version == 1 ? cfi_u8(&c) : cfi_uleb(&c);
    if (ra != CFI_RA || !read_augmentation(&c, letters, frame->address + offset_of(frame, &c), fde) || c.bad)
        return false;
    fde->initial = offset_of(frame, &c);
    fde->initial_end = end;
    return true;
}

static bool read_fde(const struct cfi_section *frame, uint64_t offset, uint64_t header, struct cfi_fde *fde) {
    uint64_t id_at, end;
    if (!entry_extent(frame, offset, &id_at, &end))
        return false;
    struct cfi_cursor c = cfi_cursor_of(frame->data + id_at, end - id_at);
    uint32_t id = cfi_u32(&c);
    if (id == 0 || id > id_at || !read_cie(frame, id_at - id, fde))
        return false;
    fde->start = read_encoded(&c, fde->pointer_encoding, frame->address + offset_of(frame, &c), header);
    uint64_t range = read_encoded(&c, fde->pointer_encoding & PE_FORM, 0, 0);
    fde->stop = fde->start + range;
    if (fde->augmented)
        cfi_skip(&c, cfi_uleb(&c)); /* the address of exception tables */
    fde->code = offset_of(frame, &c);
    fde->code_end = end;
    return !c.bad && fde->stop > fde->start;
}

enum {
    TABLE_ENCODING = 0x3b /* datarel, sdata4: the only one that linkers write and that can be searched */
};

void pc_cfi_open(struct cfi_tables *tables) {
    const struct cfi_section *h = &tables->header;
    tables->table = 0;
    if (!h->data)
        return;
    struct cfi_cursor c = cfi_cursor_of(h->data, h->size);
    uint8_t version = cfi_u8(&c), frame_enc = cfi_u8(&c), count_enc = cfi_u8(&c), table_enc = cfi_u8(&c);
    if (c.bad || version != 1 || table_enc != TABLE_ENCODING || count_enc == PE_OMIT)
        return;
    read_encoded(&c, frame_enc, h->address + offset_of(h, &c), h->address);
    uint64_t count = read_encoded(&c, count_enc, h->address + offset_of(h, &c), h->address);
    if (c.bad || count == 0 || count > (uint64_t)(c.end - c.at) / 8)
        return;
    tables->table = offset_of(h, &c);
    tables->table_count = count;
}

void pc_cfi_close(struct cfi_tables *tables) {
    free(tables->frame.data);
    free(tables->header.data);
    free(tables->index);
    memset(tables, 0, sizeof *tables);
}

static int32_t table_word(const struct cfi_tables *t, uint64_t entry, unsigned column) {
    int32_t value;
    memcpy(&value, t->header.data + t->table + entry * 8 + column * 4, 4);
    return value;
}

/* The last table entry that starts at or before the address. */
static bool search_table(const struct cfi_tables *t, uint64_t address, struct cfi_fde *fde) {
    uint64_t low = 0, high = t->table_count, base = t->header.address;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (base + (uint64_t)(int64_t)table_word(t, middle, 0) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return false;
    uint64_t at = base + (uint64_t)(int64_t)table_word(t, low - 1, 1);
    return at >= t->frame.address && read_fde(&t->frame, at - t->frame.address, base, fde);
}

static int by_start(const void *a, const void *b) {
    const struct cfi_index_entry *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

static bool push_entry(struct cfi_tables *t, uint64_t *room, const struct cfi_fde *fde, uint64_t offset) {
    if (t->index_count == *room) {
        uint64_t wanted = *room ? *room * 2 : 256;
        struct cfi_index_entry *grown = realloc(t->index, wanted * sizeof *grown);
        if (!grown)
            return false;
        t->index = grown;
        *room = wanted;
    }
    t->index[t->index_count++] = (struct cfi_index_entry){fde->start, fde->stop, offset};
    return true;
}

static void build_index(struct cfi_tables *t) {
    uint64_t offset = 0, room = 0, id_at, end;
    t->index_built = true;
    while (offset < t->frame.size) {
        struct cfi_fde fde;
        if (!entry_extent(&t->frame, offset, &id_at, &end)) {
            offset += 4; /* a terminator: crt files leave some in the middle of static programs */
            continue;
        }
        if (read_fde(&t->frame, offset, t->header.address, &fde) && !push_entry(t, &room, &fde, offset))
            break;
        offset = end;
    }
    if (t->index_count)
        qsort(t->index, t->index_count, sizeof *t->index, by_start);
}

static bool search_index(struct cfi_tables *t, uint64_t address, struct cfi_fde *fde) {
    if (!t->index_built)
        build_index(t);
    uint64_t low = 0, high = t->index_count;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (t->index[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && read_fde(&t->frame, t->index[low - 1].fde, t->header.address, fde);
}

bool pc_cfi_find(struct cfi_tables *tables, uint64_t address, struct cfi_fde *fde) {
    if (!tables->frame.data)
        return false;
    bool found = tables->table ? search_table(tables, address, fde) : search_index(tables, address, fde);
    return found && fde->start <= address && address < fde->stop;
}

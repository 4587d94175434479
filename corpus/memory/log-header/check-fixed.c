/* The fixed twin of check-buggy.c: the handle stays, so that the header can be erased through it. */
#include "pool.h"

struct mdc_file {
    struct header *header;
};

static int mdc_file_validate(const struct mdc_file *file) {
    const struct header *header = file->header;
    if (header->magic != MAGIC)
        return 0; /* never written: a new log */
    return header->version == VERSION && header->crc == crc_of(header) ? 0 : -1;
}

static int mdc_file_open(struct header *header, struct mdc_file **handle) {
    struct mdc_file *file = *handle = malloc(sizeof *file);
    need(file != NULL, "malloc");
    file->header = header;
    return mdc_file_validate(file);
}

static void mdc_file_erase(struct mdc_file *file) {
    struct header *header = file->header;
    header->magic = 0;
    persist(header, sizeof *header);
}

int main(void) {
    struct mdc_file *file;
    struct header *header = pool_recover("log", sizeof *header);
    if (!header)
        return 0;
    if (mdc_file_open(header, &file) != 0) {
        mdc_file_erase(file);
        if (mdc_file_open(header, &file) != 0)
            refuse("the log cannot be opened");
    }
    return 0;
}

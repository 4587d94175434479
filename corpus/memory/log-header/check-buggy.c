/* HSE, opening the log: a header with a wrong checksum is an error, the caller answers it by erasing the
 * header and opening again. But mdc_file_open has freed the handle on its way out, and the caller erases
 * through it. */
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
    int error = mdc_file_validate(file);
    if (error) {
        free(file);
        *handle = NULL;
    }
    return error;
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

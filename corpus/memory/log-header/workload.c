/* HSE, a new log header: the fields are stored one by one, the checksum last, and then persisted together.
 *
 * A power cut can keep the generation and take the checksum. That is why there is a checksum: the recovery
 * sees it, erases the header and begins anew. The mistake is in that recovery, check-buggy.c. */
#include "pool.h"

static void pack(struct header *header, uint64_t generation) {
    header->version = VERSION;
    header->magic = MAGIC;           // SURVIVED
    header->generation = generation; // SURVIVED LOST
    header->crc = crc_of(header);    // LOST
    persist(header, sizeof *header);
}

int main(int argc, char **argv) {
    need(argc == 2, "usage: FOLDER");
    struct header *header = pool_open(argv[1], "log", sizeof *header);
    pack(header, 1);
    pack(header, 2);
    return 0;
}

/* Slabs: each page of 1 MiB is filled at once, then small places in it are written again and again.
 *
 *   pages POOL PAGES ROUNDS */
#include <libpmem.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 1 << 20, ITEM = 256 };

int main(int count, char **words) {
    size_t size = count == 4 ? strtoul(words[2], NULL, 10) * PAGE : 0, length;
    char *pool = size ? pmem_map_file(words[1], size, PMEM_FILE_CREATE, 0666, &length, NULL) : NULL;
    if (!pool)
        return 2;
    for (size_t at = 0; at < size; at += PAGE)
        pmem_memset_persist(pool + at, 0xff, PAGE);
    for (uint64_t round = 1; round <= strtoul(words[3], NULL, 10); round++)
        for (size_t at = 0; at < size; at += ITEM) {
            memcpy(pool + at + 16, &round, sizeof round);
            pmem_persist(pool + at + 16, sizeof round);
        }
    pmem_unmap(pool, length);
    return 0;
}

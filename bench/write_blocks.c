/* A workload with very many crash states, all different: writes different blocks to several files and never
 * syncs. Files that exist before are overwritten, others are made and grow.
 *
 *   write_blocks FOLDER FILES BLOCKS
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, MOST_FILES = 64 };

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: write_blocks FOLDER FILES BLOCKS\n");
        return 2;
    }
    int files = atoi(argv[2]), blocks = atoi(argv[3]), fds[MOST_FILES];
    char name[4096], data[BLOCK];
    if (files > MOST_FILES || chdir(argv[1]) != 0) {
        return 1;
    }
    for (int file = 0; file < files; file++) {
        snprintf(name, sizeof(name), "file-%02d", file);
        fds[file] = open(name, O_WRONLY | O_CREAT, 0644);
        if (fds[file] < 0) {
            return 1;
        }
    }
    for (int block = 0; block < blocks; block++) {
        for (int file = 0; file < files; file++) {
            memset(data, 'a' + block % 26, sizeof(data));
            snprintf(data, sizeof(data), "file %d block %d\n", file, block);
            if (pwrite(fds[file], data, sizeof(data), (off_t)block * BLOCK) != BLOCK) {
                return 1;
            }
        }
    }
    puts("written");
    return 0;
}

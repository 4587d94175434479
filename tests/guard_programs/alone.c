/* Makes data durable without any function that could be intercepted, as a program with a static libpmem does.
 *
 *   alone POOL [LETTER [stay]] */
#include <emmintrin.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SIZE = 65536, AT = 128 };

int main(int count, char **words) {
    int file = open(words[1], O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, SIZE) != 0)
        return 2;
    char *pool = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pool == MAP_FAILED)
        return 2;
    if (count > 2) {
        pool[AT] = words[2][0];
        _mm_clflush(pool + AT);
        _mm_sfence();
    }
    if (count > 3)
        pause();
    return 0;
}

#include "tree.h"
#include <fcntl.h>

static int twice(int number) {
    return getpid() + 2 * number; }

static inline int sum(int count) { int all = 0; for (int i = 0; i < count; i++) all += twice(i) + twice(i + 1); return all; }

static void save(struct ring *ring, struct node *root, const char *name) {
    int file = open(name, O_WRONLY | O_CREAT, 0644);
    if (file < 0) {
        perror(name);
        exit(1);
    }
    tree_walk(root, put_node, ring);
    if (ring_flush(ring, file) < 0 || close(file) != 0)
        perror(name);
}

static __attribute__((cold, noinline)) void complain(const char *why) {
    fprintf(stderr, "%s\n", why);
    exit(2);
}

int main(int count, char **arguments) {
    struct ring ring = {.size = 64, .bytes = malloc(64)};
    struct node *root = NULL;
    if (ring.bytes == NULL)
        complain("no memory");
    for (int i = 1; i < count; i++)
        if (!tree_add(&root, atoi(arguments[i])) && ring_room(&ring) == 0)
            complain(arguments[i]);
    switch (sum(count) & 3) {
    case 0: puts("none"); break;
    case 1: puts("one"), puts("more"); break;
    default: printf("%d %d\n", twice(count), sum(count + 1));
    }
    save(&ring, root, "numbers");
    free(ring.bytes);
    return 0;
}

/* A cache in the shape of memcached's slabs: pages that are cleared at once and cut into pieces of one size, items in
 * them, and one list of all items, the one used last in front. A restart goes through the pages and then along the list.
 *
 *   set KEY VALUE   get KEY   setlen KEY BYTES:VALUE   touch KEY   adjust KEY   resize
 *
 * Its mistakes:
 *   s1  the size of the pieces of the first page is set to what the request says: nothing
 *   s2  an item that is touched is linked before the first one, also if it is that
 *   s3  adjust moves a link by a few bytes
 *   s4  a length is taken from the request and not compared with the room there is
 */
#include "service.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGES 24
#define PAGE  ((size_t)64 << 10)
#define PIECE 192
#define ROOM  112

struct item {
    uint32_t used, next, previous; /* places in the pages, counted from 1 */
    uint32_t bytes;
    char key[48], value[ROOM];
};
struct root {
    uint32_t page_count, head;
    uint32_t pieces[PAGES]; /* bytes of each, by page */
    char pages[PAGES][PAGE];
};

static struct root *root;
static uint32_t free_from; /* no piece before is free */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct item *item_at(uint32_t place) {
    return (struct item *)((char *)root->pages + place - 1);
}

static uint32_t place_of(const struct item *item) {
    return (uint32_t)((const char *)item - (const char *)root->pages) + 1;
}

static void put(uint32_t *word, uint32_t value) {
    *word = value;
    persist(word, sizeof *word);
}

static struct item *find(const char *key) {
    for (uint32_t page = 0; page < root->page_count; page++)
        for (size_t at = 0; at + PIECE <= PAGE; at += PIECE) {
            struct item *item = (struct item *)(root->pages[page] + at);
            if (item->used && strcmp(item->key, key) == 0)
                return item;
        }
    return NULL;
}

static bool new_page(void) {
    uint32_t page = root->page_count;
    if (page == PAGES)
        return false;
    pmemobj_memset_persist(pool, root->pages[page], 0, PAGE);
    put(&root->pieces[page], PIECE);
    put(&root->page_count, page + 1);
    return true;
}

static struct item *take_piece(void) {
    for (;;) {
        for (; free_from < root->page_count * (PAGE / PIECE); free_from++) {
            uint32_t page = free_from / (PAGE / PIECE), piece = free_from % (PAGE / PIECE);
            struct item *item = (struct item *)(root->pages[page] + piece * PIECE);
            if (!item->used)
                return item;
        }
        if (!new_page())
            return NULL;
    }
}

static void link_first(struct item *item) {
    uint32_t place = place_of(item);
    put(&item->next, root->head);
    if (root->head)
        put(&item_at(root->head)->previous, place);
    put(&root->head, place);
}

static void unlink_item(const struct item *item) {
    if (item->previous)
        put(&item_at(item->previous)->next, item->next);
    if (item->next)
        put(&item_at(item->next)->previous, item->previous);
}

static const char *set(const char *key, const char *value) {
    struct item *item = find(key);
    bool is_new = !item;
    if (is_new && !(item = take_piece()))
        return "FULL";
    item->bytes = (uint32_t)strnlen(value, ROOM);
    memcpy(item->value, value, item->bytes);
    snprintf(item->key, sizeof item->key, "%s", key);
    persist(&item->bytes, sizeof *item - offsetof(struct item, bytes));
    put(&item->used, 1);
    if (is_new)
        link_first(item);
    return "OK";
}

static void touch(struct item *item) {
    unlink_item(item);
    put(&item->previous, 0);
    link_first(item); /* s2 */
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    struct item *item = find(key);
    const char *said = item ? "OK" : "NONE";
    if (strcmp(verb, "set") == 0) {
        said = set(key, value);
    } else if (strcmp(verb, "setlen") == 0) {
        said = set(key, value);
        if ((item = find(key)))
            put(&item->bytes, (uint32_t)strtoul(value, NULL, 10)); /* s4 */
    } else if (strcmp(verb, "touch") == 0 && item) {
        touch(item);
    } else if (strcmp(verb, "adjust") == 0 && item) {
        put(&item->next, item->next + 0x7fff0000u); /* s3 */
    } else if (strcmp(verb, "resize") == 0) {
        put(&root->pieces[0], (uint32_t)strtoul(key, NULL, 10)); /* s1 */
        said = "OK";
    } else if (strcmp(verb, "get") == 0 && item) {
        snprintf(answer, ANSWER, "%.*s", (int)(item->bytes < ROOM ? item->bytes : ROOM), item->value);
        said = answer;
    }
    if (said != answer)
        snprintf(answer, ANSWER, "%s", said);
    pthread_mutex_unlock(&lock);
}

static uint32_t sum_of(const struct item *item) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < item->bytes; i++)
        sum += (unsigned char)item->value[i];
    return sum;
}

static void recover(void *found) {
    root = found;
    volatile uint32_t sum = 0;
    for (uint32_t page = 0; page < root->page_count; page++)
        for (size_t at = 0; at + root->pieces[page] <= PAGE; at += root->pieces[page]) {
            const struct item *item = (const struct item *)(root->pages[page] + at);
            if (item->used)
                sum += sum_of(item);
        }
    for (uint32_t at = root->head; at; at = item_at(at)->next)
        sum += item_at(at)->used;
}

static const char *check(void) {
    size_t there = 0, linked = 0;
    for (uint32_t page = 0; page < root->page_count; page++)
        for (size_t at = 0; at + PIECE <= PAGE; at += PIECE)
            there += ((const struct item *)(root->pages[page] + at))->used;
    for (uint32_t at = root->head; at; at = item_at(at)->next)
        linked++;
    return linked + 8 < there ? "items are not in the list" : NULL;
}

int main(int argc, char **argv) {
    static const struct service cache = {"slabcache", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &cache);
}

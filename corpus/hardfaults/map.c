/* A map of PMDK in the shape of PMEMKV: values are objects of their own, and what is deleted is freed later.
 *
 *   set KEY VALUE   get KEY   delete KEY
 *
 * Its mistake:
 *   f12  what waits to be freed is known to the running program alone: nobody frees it after a restart
 */
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define CHAINS 1024
#define VALUE  8192
#define LAZY   4096 /* deleted values that are freed together */

struct node {
    PMEMoid next;
    char key[32];
    char value[VALUE];
};
struct root {
    PMEMoid chains[CHAINS];
};

static struct root *root;
static PMEMoid waiting[LAZY];
static unsigned waiting_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The link to a key's node, or where it would be. */
static PMEMoid *find(const char *key) {
    PMEMoid *link = &root->chains[hash_of(key) % CHAINS];
    for (struct node *node; (node = pmemobj_direct(*link)) && strcmp(node->key, key) != 0;)
        link = &node->next;
    return link;
}

static const char *set(const char *key, const char *value) {
    PMEMoid *link = find(key);
    const char *said = "OK";
    TX_BEGIN(pool) {
        struct node *node = pmemobj_direct(*link);
        if (node) {
            pmemobj_tx_add_range_direct(node->value, strlen(value) + 1);
        } else {
            pmemobj_tx_add_range_direct(link, sizeof *link);
            *link = pmemobj_tx_zalloc(sizeof *node, 1);
            node = pmemobj_direct(*link);
            strncpy(node->key, key, sizeof node->key - 1);
        }
        strcpy(node->value, value);
    }
    TX_ONABORT {
        said = "OUT OF MEMORY";
    }
    TX_END
    return said;
}

static void drop(const char *key) {
    PMEMoid *link = find(key);
    struct node *node = pmemobj_direct(*link);
    if (!node)
        return;
    if (waiting_count == LAZY)
        while (waiting_count)
            pmemobj_free(&waiting[--waiting_count]);
    waiting[waiting_count++] = *link; /* f12 */
    TX_BEGIN(pool) {
        pmemobj_tx_add_range_direct(link, sizeof *link);
        *link = node->next;
    }
    TX_END
}

static void request(char *verb, char *key, char *value, char answer[ANSWER]) {
    pthread_mutex_lock(&lock);
    const char *said = "OK";
    if (strcmp(verb, "set") == 0) {
        said = set(key, value);
    } else if (strcmp(verb, "delete") == 0) {
        drop(key);
    } else {
        const struct node *node = pmemobj_direct(*find(key));
        said = node ? node->value : "NONE";
    }
    snprintf(answer, ANSWER, "%.*s", ANSWER - 1, said);
    pthread_mutex_unlock(&lock);
}

static void recover(void *found) {
    root = found;
    for (unsigned i = 0; i < CHAINS; i++)
        for (struct node *node = pmemobj_direct(root->chains[i]); node; node = pmemobj_direct(node->next))
            (void)*(volatile char *)node->key;
}

static const char *check(void) {
    for (unsigned i = 0; i < CHAINS; i++)
        for (struct node *node = pmemobj_direct(root->chains[i]); node; node = pmemobj_direct(node->next))
            if (hash_of(node->key) % CHAINS != i)
                return "a node is in the wrong chain";
    return NULL;
}

int main(int argc, char **argv) {
    static const struct service map = {"map", sizeof(struct root), recover, check, request, NULL};
    return run_service(argc, argv, &map);
}

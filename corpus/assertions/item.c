/* Items of transactional maps. */
#include "item.h"

#include "bugs.h"
#include "pool.h"
#include "tx.h"

struct item *item_new(uint64_t key, const void *value) {
    size_t size = sizeof(struct item) + pool->item_size;
    struct item *item = pool_alloc(size);
    if (BUG(item_new_too_small))
        TX_NEW(item, pool->item_size);
    else if (!BUG(item_not_new))
        TX_NEW(item, size);
    TX_STORE(item->key, key); // HERE item-not-new
    if (BUG(item_value_unflushed))
        FILL(item->value, value, pool->item_size); // HERE item-value-unflushed
    else
        TX_FILL(item->value, value, pool->item_size); // HERE item-not-new item-new-too-small
    if (BUG(item_flushed_early))
        FLUSH(item, size); // HERE item-flushed-early
    return item;
}

void item_update(struct item *item, const void *value) {
    if (BUG(item_update_partly_logged))
        TX_ADD(item->value, pool->item_size / 2); // HERE item-update-partly-logged
    else if (!BUG(item_update_unlogged) && !BUG(item_update_logged_late))
        TX_ADD(item->value, pool->item_size);
    if (BUG(item_update_logged_twice))
        TX_ADD(item->value, pool->item_size); // HERE item-update-logged-twice
    // HERE item-update-unlogged item-update-partly-logged item-update-logged-late
    // HERE ctree-update-not-ended rbtree-insert-not-ended
    TX_FILL(item->value, value, pool->item_size);
    if (BUG(item_update_logged_late))
        TX_ADD(item->value, pool->item_size);
}

void item_free(struct item *item) {
    tx_free(item, sizeof *item + pool->item_size);
}

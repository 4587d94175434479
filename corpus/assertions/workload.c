/* A key's values carry the key and a version that counts up; the model is the version of each key, 0 for a
 * key that is not there. */
#include "workload.h"

#include "hash.h"
#include "pool.h"
#include "tx.h"

struct model {
    uint64_t keys, *version, versions;
    unsigned char *value; /* the same bytes for all, but for the first 16 and the last 8 */
};

static struct model open_model(const struct workload *workload) {
    struct model model = {.keys = workload->keys ? workload->keys : workload->operations};
    model.version = calloc(model.keys, sizeof *model.version);
    model.value = malloc(workload->item_size);
    need(model.version && model.value, "malloc");
    for (uint64_t i = 0; i < workload->item_size; i++)
        model.value[i] = (unsigned char)hash_of(i + workload->seed);
    return model;
}

static void close_model(struct model *model) {
    free(model->version);
    free(model->value);
}

static const void *value_of(const struct model *model, uint64_t key) {
    uint64_t mark[2] = {key, model->version[key]};
    memcpy(model->value, mark, sizeof mark);
    memcpy(model->value + pool->item_size - sizeof *mark, &mark[1], sizeof *mark);
    return model->value;
}

/* Keys far from each other, as those of a real map are. */
static uint64_t spread(uint64_t key) {
    return hash_of(key + 1);
}

static void must(bool ok, const char *what, uint64_t key) {
    if (ok)
        return;
    printf("key %llu: %s\n", (unsigned long long)key, what);
    fflush(stdout);
    _exit(1);
}

static void look_at(const struct map_type *type, const struct model *model, uint64_t key) {
    const void *found = type->get(pool->root, spread(key));
    must(!found == !model->version[key], found ? "it should be gone" : "it is lost", key);
    must(!found || memcmp(found, value_of(model, key), pool->item_size) == 0, "it has another value", key);
}

static uint64_t items_of(const struct model *model) {
    uint64_t items = 0;
    for (uint64_t key = 0; key < model->keys; key++)
        items += model->version[key] != 0;
    return items;
}

/* Whether the map holds just what the model does; it may have counted `counted` items. */
static bool is_as(const struct map_type *type, const struct model *model, uint64_t counted) {
    uint64_t count = type->count(pool->root);
    for (uint64_t key = 0; key < model->keys; key++) {
        const void *found = type->get(pool->root, spread(key));
        if (!found != !model->version[key] ||
            (found && memcmp(found, value_of(model, key), pool->item_size) != 0))
            return false;
    }
    return count == items_of(model) || count == UNSURE || (type->counts_later && count == counted);
}

/* One operation on the model, and on the map unless `type` is NULL. */
static void operate(const struct map_type *type, struct model *model, const struct workload *workload,
                    uint64_t number) {
    uint64_t dice = hash_of(workload->seed * 0x9e3779b9u + number);
    uint64_t key = workload->keys ? dice % workload->keys : number;
    unsigned choice = workload->keys ? dice >> 32 & 7 : 0;
    if (choice < 4) {
        model->version[key] = ++model->versions;
        if (type)
            type->insert(pool->root, spread(key), value_of(model, key));
    } else if (choice < 6) {
        bool was_there = model->version[key] != 0;
        model->version[key] = 0;
        if (type)
            must(type->remove(pool->root, spread(key)) == was_there, "remove says otherwise", key);
    } else if (type) {
        look_at(type, model, key);
    }
}

static void look_at_all(const struct map_type *type, const struct model *model) {
    for (uint64_t key = 0; key < model->keys; key++)
        look_at(type, model, key);
    printf("items %llu\n", (unsigned long long)items_of(model));
}

/* A power cut in a transaction that has changed things already. */
static void stop_in_transaction(const struct map_type *type, struct model *model,
                                const struct workload *workload) {
    TX_BEGIN();
    operate(type, model, workload, workload->stop_after);
    _exit(0);
}

void run_workload(const struct map_type *type, const struct workload *workload) {
    struct model model = open_model(workload);
    pool->item_size = workload->item_size;
    persist(&pool->item_size, sizeof pool->item_size);
    uint64_t trace = workload->trace ? workload->trace : workload->operations;
    for (uint64_t i = 0; i < workload->operations; i++) {
        if (i % trace == 0)
            pc_start();
        if (workload->stop_after && i == workload->stop_after)
            stop_in_transaction(type, &model, workload);
        operate(type, &model, workload, i);
        if (workload->tell)
            say("done %llu", (unsigned long long)i + 1);
        if (i % trace == trace - 1 || i == workload->operations - 1)
            pc_end();
    }
    look_at_all(type, &model);
    close_model(&model);
}

void check_workload(const struct map_type *type, const struct workload *workload) {
    struct model model = open_model(workload);
    if (pool->item_size != workload->item_size)
        refuse("the pool holds values of another size");
    for (uint64_t i = 0; i < workload->stop_after; i++)
        operate(NULL, &model, workload, i);
    look_at_all(type, &model);
    close_model(&model);
}

void judge_workload(const struct map_type *type, const struct workload *workload, uint64_t done) {
    struct model model = open_model(workload);
    for (uint64_t i = 0; i < done; i++)
        operate(NULL, &model, workload, i);
    uint64_t items = items_of(&model);
    bool right = pool->item_size == 0 ? done == 0 : is_as(type, &model, items);
    if (!right && pool->item_size == workload->item_size) {
        operate(NULL, &model, workload, done);
        right = is_as(type, &model, items);
    }
    close_model(&model);
    if (!right)
        refuse("the map is not as after %llu operations, nor as after one more", (unsigned long long)done);
}

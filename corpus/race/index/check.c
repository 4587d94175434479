/* What a check found: the keys of a map, and whether their values can be. */
#include "check.h"

#include "map.h"

static uint64_t values[MOST_KEY + 1];
static uint64_t version; /* of the newest value */

uint64_t fresh_value(uint64_t key) {
    return __atomic_add_fetch(&version, 1, __ATOMIC_RELAXED) << VERSION_SHIFT | key;
}

void found(uint64_t key, uint64_t value) {
    if (key > MOST_KEY || !value)
        refuse("key %lu has the value %lu", key, value);
    if (values[key])
        refuse("key %lu is there twice", key);
    values[key] = value;
    if (value_version(value) > version)
        version = value_version(value);
}

uint64_t found_value(uint64_t key) {
    return key <= MOST_KEY ? values[key] : 0;
}

void forget_found(void) {
    memset(values, 0, sizeof values);
}

uint64_t check_copies(void) {
    uint64_t count = 0;
    for (uint64_t key = 1; key <= MOST_KEY; key++) {
        uint64_t value = values[key], origin = value_key(value), own = values[origin];
        count += is_there(value);
        if (value && !own)
            refuse("key %lu holds version %lu of key %lu, which is not there", key, value_version(value),
                   origin);
        if (value_key(own) == origin && value_version(own) < value_version(value))
            refuse("key %lu holds version %lu of key %lu, which has come to %lu", key, value_version(value),
                   origin, value_version(own));
    }
    return count;
}

void check_said(FILE *lines) {
    static uint64_t put[MOST_KEY + 1];
    char line[128];
    uint64_t key, newest;
    while (fgets(line, sizeof line, lines))
        if (sscanf(line, "put %lu to %lu", &key, &newest) == 2 && key <= MOST_KEY && put[key] < newest)
            put[key] = newest;
    for (key = 1; key <= MOST_KEY; key++)
        if (put[key] && (!values[key] || (value_key(values[key]) == key && values[key] < put[key])))
            refuse("key %lu was put to %lu, and is %lu", key, put[key], values[key]);
}

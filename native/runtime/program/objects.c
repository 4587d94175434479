/* Pools, exclusions and named variables: known to the whole program, told to the ring of each thread. */
#define _GNU_SOURCE
#include "program.h"

#include "../instrument/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct variable {
    struct variable *next;
    const volatile void *address;
    size_t size;
    char name[];
};

static struct {
    pthread_mutex_t lock;
    uint32_t version; /* of pools and exclusions */
    struct ranges pools, excluded;
    struct variable *variables;
} objects = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void put_all(unsigned code, const struct ranges *set) {
    for (size_t i = 0; i < set->count; i++)
        put_record(code, set->at[i].low, set->at[i].high - set->at[i].low, SITE_UNKNOWN);
}

/* Tell the thread's ring what others have changed since. */
void tell_ranges(void) {
    struct quiet quiet = lock_quietly(&objects.lock);
    if (self.told != objects.version) {
        put_record(PC_FORGET_RANGES, 0, 0, SITE_UNKNOWN);
        put_all(PC_POOL, &objects.pools);
        put_all(PC_EXCLUDE, &objects.excluded);
        self.told = objects.version;
    }
    unlock_quietly(&objects.lock, &quiet);
}

static void change(enum pc_operation operation, uint64_t low, uint64_t high) {
    switch (operation) {
    case PC_POOL:
        ranges_add(&objects.pools, low, high);
        break;
    case PC_UNPOOL:
        ranges_remove(&objects.pools, low, high);
        break;
    case PC_EXCLUDE:
        ranges_add(&objects.excluded, low, high);
        break;
    default:
        ranges_remove(&objects.excluded, low, high);
        break;
    }
    watch_pools(&objects.pools);
}

void pc_range_(enum pc_operation operation, const volatile void *address, size_t size, struct pc_site *site) {
    int reason = errno;
    struct quiet all = hush();
    if (tell_tracer(operation, address, size)) {
        /* it is in the trace */
    } else if (!atomic_load(&session.channel)) {
        complain(KIND_BEFORE_INIT, site);
    } else if (ensure_ring(number_of(site))) {
        tell_ranges();
        put_record(operation, (uintptr_t)address, size, number_of(site));
        uint64_t low = (uintptr_t)address, high = low + size;
        if (low < high) { /* else the checker says what is wrong */
            struct quiet quiet = lock_quietly(&objects.lock);
            change(operation, low, high);
            if (self.told == objects.version++)
                self.told = objects.version; /* this thread has just been told */
            unlock_quietly(&objects.lock, &quiet);
            bool tracked = self.phase == atomic_load(&pc_phase);
            uint32_t phase = atomic_fetch_add(&pc_phase, 1) + 1;
            if (tracked)
                self.phase = phase;
        }
    }
    unhush(&all);
    errno = reason;
}

/* Another thread of the parent's may have had the lock; here there is none. */
void objects_in_child(void) {
    pthread_mutex_init(&objects.lock, NULL);
}

void objects_forget(void) {
    struct quiet quiet = lock_quietly(&objects.lock);
    ranges_free(&objects.pools);
    ranges_free(&objects.excluded);
    objects.version = 0;
    watch_pools(&objects.pools);
    while (objects.variables) {
        struct variable *gone = objects.variables;
        objects.variables = gone->next;
        free(gone);
    }
    unlock_quietly(&objects.lock, &quiet);
}

static struct variable **find_variable(const char *name) {
    struct variable **at = &objects.variables;
    while (*at && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    return at;
}

void pc_register_variable_(const char *name, const volatile void *address, size_t size,
                           struct pc_site *site) {
    size_t length = strlen(name) + 1;
    struct variable *variable = malloc(sizeof *variable + length);
    if (!variable)
        return;
    memcpy(variable->name, name, length);
    struct quiet quiet = lock_quietly(&objects.lock);
    struct variable **at = find_variable(name);
    struct variable *before = *at;
    variable->next = before ? before->next : NULL;
    variable->address = address;
    variable->size = size;
    *at = variable; /* a name that is registered again means the new object */
    unlock_quietly(&objects.lock, &quiet);
    free(before);
}

void pc_unregister_variable_(const char *name, struct pc_site *site) {
    struct quiet quiet = lock_quietly(&objects.lock);
    struct variable **at = find_variable(name), *gone = *at;
    if (gone)
        *at = gone->next;
    unlock_quietly(&objects.lock, &quiet);
    free(gone);
    if (!gone)
        complain(KIND_UNKNOWN_VARIABLE, site);
}

int pc_get_variable(const char *name, void **address, size_t *size) {
    struct quiet quiet = lock_quietly(&objects.lock);
    const struct variable *variable = *find_variable(name);
    if (address)
        *address = variable ? (void *)(uintptr_t)variable->address : NULL;
    if (size)
        *size = variable ? variable->size : 0;
    unlock_quietly(&objects.lock, &quiet);
    return variable != NULL;
}

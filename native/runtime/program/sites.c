/* Numbers for places: given when a place is first used, and good until pc_exit. */
#define _GNU_SOURCE
#include "sites.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <unistd.h>

uint32_t number_of(struct pc_site *site) {
    uint32_t tag = (session.number & 0xff) << 24, known = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    struct channel *channel = atomic_load(&session.channel);
    if (known >> 24 == tag >> 24 || !channel)
        return known;
    struct quiet quiet = lock_quietly(&session.lock);
    known = __atomic_load_n(&site->number, __ATOMIC_RELAXED);
    if (known >> 24 != tag >> 24) {
        known = tag | channel_add_site(channel, site->file, site->function, site->line, 0);
        __atomic_store_n(&site->number, known, __ATOMIC_RELAXED);
    }
    unlock_quietly(&session.lock, &quiet);
    return known;
}

uint32_t pc_number_of_(struct pc_site *site) {
    return number_of(site);
}

struct address_slot addresses[ADDRESS_SLOTS]; /* a full one gives unknown places */

/* The name of a file from the root on, without links; not realpath, which a signal's handler must not call.
 */
static const char *whole_name(const char *name, char *path, size_t room) {
    int file = open(name, O_PATH | O_CLOEXEC);
    if (file < 0)
        return name;
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, room - 1);
    close(file);
    if (length <= 0 || path[0] != '/')
        return name;
    path[length] = 0;
    return path;
}

static uint32_t add_address(struct channel *channel, const void *code) {
    Dl_info object = {0};
    struct link_map *map = NULL;
    if (!dladdr1(code, &object, (void **)&map, RTLD_DL_LINKMAP) || !object.dli_fname || !map)
        return channel_add_site(channel, NULL, NULL, 0, (uintptr_t)code);
    uint64_t offset =
        (uint64_t)((uintptr_t)code - map->l_addr); /* the address in the file, as debuggers count */
    char path[4096];
    const char *file = whole_name(object.dli_fname, path, sizeof path);
    return channel_add_site(channel, file, object.dli_sname, 0, offset);
}

uint32_t pc_number_of_address_(const void *code) {
    struct channel *channel = atomic_load(&session.channel);
    uint32_t tag = (session.number & 0xff) << 24;
    size_t slot = slot_of((uintptr_t)code);
    for (unsigned looked = 0; channel && looked < ADDRESS_SLOTS / 2;
         looked++, slot = (slot + 1) % ADDRESS_SLOTS) {
        uintptr_t none = 0;
        atomic_compare_exchange_strong(&addresses[slot].code, &none, (uintptr_t)code);
        if (none && none != (uintptr_t)code)
            continue;
        uint32_t known = atomic_load(&addresses[slot].number);
        if (known >> 24 != tag >> 24) {
            struct quiet quiet = lock_quietly(&session.lock);
            known = atomic_load(&addresses[slot].number);
            if (known >> 24 != tag >> 24) {
                known = tag | add_address(channel, code);
                atomic_store(&addresses[slot].number, known);
            }
            unlock_quietly(&session.lock, &quiet);
        }
        return known;
    }
    return tag | SITE_UNKNOWN;
}

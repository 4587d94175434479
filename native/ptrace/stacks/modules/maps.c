/* Reads /proc/PID/maps: see stacks/modules/maps.h. Only executable mappings are kept: 5 to 10 in a C program.
 */
#include "stacks/modules/maps.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MAPS_BYTES (16u << 20)

/* The whole file, NUL-terminated, malloc'ed. */
static char *read_all(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    size_t room = 32768, used = 0;
    char *text = malloc(room);
    while (text) {
        ssize_t got = read(fd, text + used, room - used - 1);
        if (got <= 0)
            break;
        used += (size_t)got;
        if (room - used > 8192)
            continue;
        char *grown = room < MAX_MAPS_BYTES ? realloc(text, room * 2) : 0;
        if (!grown)
            break;
        text = grown;
        room *= 2;
    }
    close(fd);
    if (text)
        text[used] = '\0';
    return text;
}

static uint64_t hex(const char **at) {
    uint64_t value = 0;
    for (;; ++*at) {
        unsigned c = (unsigned char)**at;
        if (c >= '0' && c <= '9')
            value = value << 4 | (c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (c - 'a' + 10);
        else
            return value;
    }
}

/* Maps escapes a newline in a path as \012, and only that. */
static void unescape(char *path) {
    char *out = path;
    for (const char *in = path; *in; out++) {
        if (strncmp(in, "\\012", 4) == 0) {
            *out = '\n';
            in += 4;
        } else {
            *out = *in++;
        }
    }
    *out = '\0';
}

static void cut_deleted(char *path) {
    static const char mark[] = " (deleted)";
    size_t length = strlen(path);
    if (length > sizeof mark - 1 && strcmp(path + length - (sizeof mark - 1), mark) == 0)
        path[length - (sizeof mark - 1)] = '\0';
}

/* One line "start-end perms offset major:minor inode   path"; false: not an executable mapping. */
static bool parse_line(struct pc_modules *modules, pid_t pid, char *line, struct pc_mapping *out) {
    const char *at = line;
    *out = (struct pc_mapping){.start = hex(&at)};
    if (*at++ != '-')
        return false;
    out->end = hex(&at);
    if (*at != ' ' || strnlen(at, 6) < 6 || at[3] != 'x')
        return false;
    at += 6;
    uint64_t offset = hex(&at);
    at += *at == ' ';
    uint64_t device = hex(&at) << 32;
    at += *at == ':';
    device |= hex(&at);
    char *rest;
    uint64_t inode = strtoull(at, &rest, 10);
    while (*rest == ' ')
        rest++;
    if (*rest != '/' || inode == 0)
        return true;
    unescape(rest);
    cut_deleted(rest);
    struct pc_module *module = pc_modules_get(modules, pid, rest, device, inode);
    if (module && pc_module_bias(module, out->start, offset, &out->bias))
        out->module = module;
    return true;
}

static const struct pc_mapping *find_python(const struct pc_maps *maps) {
    for (unsigned i = 0; i < maps->count; i++)
        if (maps->items[i].module && maps->items[i].module->py_runtime)
            return &maps->items[i];
    return 0;
}

struct pc_maps *pc_maps_read(struct pc_modules *modules, pid_t pid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    char *text = read_all(path);
    unsigned room = 32;
    struct pc_maps *maps = text ? malloc(sizeof *maps + room * sizeof maps->items[0]) : 0;
    if (maps)
        *maps = (struct pc_maps){.owners = 1};
    char *save = 0;
    for (char *line = maps ? strtok_r(text, "\n", &save) : 0; line; line = strtok_r(0, "\n", &save)) {
        if (maps->count == room) {
            struct pc_maps *grown = realloc(maps, sizeof *maps + 2 * room * sizeof maps->items[0]);
            if (!grown)
                break;
            maps = grown;
            room *= 2;
        }
        if (parse_line(modules, pid, line, &maps->items[maps->count]))
            maps->count++;
    }
    free(text);
    if (maps)
        maps->python = find_python(maps);
    return maps;
}

struct pc_maps *pc_maps_share(struct pc_maps *maps) {
    if (maps)
        maps->owners++;
    return maps;
}

void pc_maps_drop(struct pc_maps *maps) {
    if (maps && --maps->owners == 0)
        free(maps);
}

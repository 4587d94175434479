/* See stacks/stable_name.h. */
#define _GNU_SOURCE
#include "stacks/stable_name.h"

#include <stdlib.h>
#include <string.h>

#include "stacks/modules/module.h"
#include "trace_format.h"

static uint64_t mix(uint64_t name, const void *data, size_t length) {
    const unsigned char *bytes = data;
    for (size_t i = 0; i < length; i++)
        name = (name ^ bytes[i]) * 1099511628211u;
    return name;
}

static const char *last_part(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

uint64_t pc_name_native(uint64_t name, const struct pc_module *module, uint64_t address) {
    if (module == NULL)
        return mix(name, "U", 1);
    const char *file = module->build_id[0] != '\0' ? module->build_id : last_part(module->path);
    name = mix(name, "N", 1);
    name = mix(name, file, strlen(file) + 1);
    return mix(name, &address, sizeof(address));
}

uint64_t pc_name_python(uint64_t name, uint64_t code, uint64_t instruction) {
    name = mix(name, "P", 1);
    name = mix(name, &code, sizeof(code));
    return mix(name, &instruction, sizeof(instruction));
}

uint64_t pc_name_bytes(uint64_t name, const void *data, size_t length) {
    return mix(name, data, length);
}

uint64_t pc_name_told(const uint8_t *entry, size_t length) {
    return mix(PC_NAME_START, entry, length);
}

uint64_t pc_name_with_told(uint64_t name, uint32_t kind, uint64_t told) {
    name = mix(name, kind == PC_FRAME_ASKED ? "A" : "T", 1);
    return mix(name, &told, sizeof(told));
}

static bool is_text(const uint8_t *bytes, size_t length, const char *text) {
    return length == strlen(text) && memcmp(bytes, text, length) == 0;
}

uint64_t pc_pycode_name(const uint8_t *entry) {
    struct pc_pycode code;
    memcpy(&code, entry, sizeof(code));
    const uint8_t *file = entry + sizeof(code), *function = file + code.filename_length, *last = function;
    while (last > file && last[-1] != '/')
        last--;
    if (is_text(last, (size_t)(function - last), "recorder.py") &&
        is_text(function, code.qualname_length, "_be_recorded"))
        return PC_NAME_BORDER;
    uint64_t name = mix(PC_NAME_START, last, (size_t)(function - last));
    name = mix(name, "", 1);
    name = mix(name, function, code.qualname_length);
    return mix(name, &code.first_line, sizeof(code.first_line));
}

bool pc_is_interpreter(const struct pc_module *module) {
    const char *file = module == NULL ? "" : last_part(module->path);
    return strncmp(file, "python", 6) == 0 || strncmp(file, "libpython", 9) == 0;
}

void pc_stack_names_keep(struct pc_stack_names *names, uint32_t id, uint64_t name) {
    if (id == 0)
        return;
    if (id > names->room) {
        size_t room = (size_t)id * 2 + 64;
        uint64_t *grown = realloc(names->names, room * sizeof(*grown));
        if (grown == NULL)
            return; /* no name, then: it is found nowhere */
        memset(grown + names->room, 0, (room - names->room) * sizeof(*grown));
        names->names = grown;
        names->room = room;
    }
    names->names[id - 1] = name;
}

uint64_t pc_stack_names_get(const struct pc_stack_names *names, uint32_t id) {
    return id == 0 || id > names->room ? 0 : names->names[id - 1];
}

void pc_stack_names_free(struct pc_stack_names *names) {
    free(names->names);
    *names = (struct pc_stack_names){0};
}

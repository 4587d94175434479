/* The Python extension powercut._engine: the few system calls and hot loops that Python lacks.
 *
 * The signatures are written down, with types, in src/powercut/_engine.pyi. */
#include "engine.h"
#include "history.h"

#include <malloc.h>

/* Columns of long traces grow and go. By default the C library keeps what is freed of up to 32 MB for itself,
 * in pieces, and moves such a column each time it grows. */
#define LONG_ARRAY (4 << 20)

static PyMethodDef methods[] = {
    {"spawn", engine_spawn, METH_VARARGS, "Run a program to its end; (kind, code, seconds, output)."},
    {"reap_strays", engine_reap_strays, METH_NOARGS, "Kill and reap every child; how many there were."},
    {"adopt_orphans", engine_adopt_orphans, METH_NOARGS, "Become the parent of orphaned descendants."},
    {"die_with_parent", engine_die_with_parent, METH_VARARGS, "Be killed when the parent process ends."},
    {"watch_open", engine_watch_open, METH_NOARGS, "A new inotify descriptor."},
    {"watch_add", engine_watch_add, METH_VARARGS, "Watch a folder; its watch number."},
    {"watch_remove", engine_watch_remove, METH_VARARGS, "Stop watching."},
    {"watch_read", engine_watch_read, METH_VARARGS, "Add all waiting events to a dict; how many there were."},
    {"enter_view", engine_enter_view, METH_VARARGS, "Private mount namespace with source shown at target."},
    {"bind_mount", engine_bind_mount, METH_VARARGS, "Show source at target, in this mount namespace."},
    {"mount_tmpfs", engine_mount_tmpfs, METH_VARARGS, "Mount a new tmpfs, in this mount namespace."},
    {"can_enter_view", engine_can_enter_view, METH_NOARGS, "Whether private views work here, and why not."},
    {"unmount", engine_unmount, METH_VARARGS, "Take the last mount from a folder, in this mount namespace."},
    {"mount_layers", engine_mount_layers, METH_VARARGS,
     "An overlay at a folder; how well it tells files apart."},
    {"enter_layers", engine_enter_layers, METH_VARARGS,
     "Private mount namespace with an overlay at a folder."},
    {"try_layers", engine_try_layers, METH_VARARGS, "Whether overlays of a folder work here, and why not."},
    {"survey", engine_survey, METH_VARARGS, "What a folder holds, from outside."},
    {"install_filter", engine_install_filter, METH_NOARGS, "Install the tracer's system-call filter."},
    {"losses", engine_losses, METH_VARARGS, "Updates that must be lost with some."},
    {"requirements", engine_requirements, METH_VARARGS, "Updates that must survive with some."},
    {"mark_set", engine_mark_set, METH_O, "A number that stands for a set of updates."},
    {"mark_sums", engine_mark_sums, METH_VARARGS, "The same for the first updates of a list, every so many."},
    {"lint_memory", engine_lint_memory, METH_VARARGS, "Patterns of misuse in the memory records of a trace."},
    {"guard_records", engine_guard_records, METH_VARARGS, "Where the records of a checkpoint log are."},
    {"guard_authors", engine_guard_authors, METH_VARARGS, "Who made each word of a pool what it is."},
    {"guard_present", engine_guard_present, METH_VARARGS, "What the pools of a checkpoint log hold."},
    {"guard_reclaim", engine_guard_reclaim, METH_VARARGS, "Keep the newest versions of a checkpoint log."},
    {"guard_checksum", engine_guard_checksum, METH_VARARGS, "The checksum of a record of a checkpoint log."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "powercut._engine",
    .m_doc = "System calls and hot loops of powercut.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__engine(void) {
    mallopt(M_MMAP_THRESHOLD, LONG_ARRAY);
    mallopt(M_TRIM_THRESHOLD, 2 * LONG_ARRAY);
    PyObject *made = PyModule_Create(&module);
    struct {
        PyType_Spec *spec;
        PyTypeObject **type;
    } types[] = {{&pc_history_type_spec, &pc_history_type},
                 {&pc_survivors_type_spec, &pc_survivors_type},
                 {&pc_block_hashes_type_spec, &pc_block_hashes_type},
                 {&pc_chains_type_spec, &pc_chains_type},
                 {&pc_fork_server_type_spec, &pc_fork_server_type}};
    for (size_t i = 0; made != NULL && i < sizeof(types) / sizeof(*types); i++) {
        *types[i].type = (PyTypeObject *)PyType_FromSpec(types[i].spec);
        if (*types[i].type == NULL || PyModule_AddType(made, *types[i].type) != 0) {
            Py_CLEAR(made);
        }
    }
    return made;
}

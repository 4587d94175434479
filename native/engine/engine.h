/* What the files of the Python extension powercut._engine share: its functions, one group per file. */
#ifndef POWERCUT_ENGINE_H
#define POWERCUT_ENGINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "python_type.h"

/* spawn.c: running one check to its end, and nothing left of it afterwards. */
PyObject *engine_spawn(PyObject *self, PyObject *args);
PyObject *engine_reap_strays(PyObject *self, PyObject *args);
PyObject *engine_adopt_orphans(PyObject *self, PyObject *args);
PyObject *engine_die_with_parent(PyObject *self, PyObject *args);

/* events.c: what happened to the folders of an image. */
PyObject *engine_watch_open(PyObject *self, PyObject *args);
PyObject *engine_watch_add(PyObject *self, PyObject *args);
PyObject *engine_watch_remove(PyObject *self, PyObject *args);
PyObject *engine_watch_read(PyObject *self, PyObject *args);

/* mounts.c: private views of the file system. */
PyObject *engine_enter_view(PyObject *self, PyObject *args);
PyObject *engine_bind_mount(PyObject *self, PyObject *args);
PyObject *engine_mount_tmpfs(PyObject *self, PyObject *args);
PyObject *engine_can_enter_view(PyObject *self, PyObject *args);
PyObject *engine_install_filter(PyObject *self, PyObject *args);
PyObject *engine_unmount(PyObject *self, PyObject *args);

/* layers.c: a folder with a layer of changes over it. */
PyObject *engine_mount_layers(PyObject *self, PyObject *args);
PyObject *engine_enter_layers(PyObject *self, PyObject *args);
PyObject *engine_try_layers(PyObject *self, PyObject *args);

/* survey.c: what a folder holds, from outside. */
PyObject *engine_survey(PyObject *self, PyObject *args);

/* order.c: what survives or is lost together. */
PyObject *engine_losses(PyObject *self, PyObject *args);
PyObject *engine_requirements(PyObject *self, PyObject *args);
PyObject *engine_mark_set(PyObject *self, PyObject *updates);
PyObject *engine_mark_sums(PyObject *self, PyObject *args);

/* chains.c: the last update of each piece of data, and what caches hold back. */
extern PyTypeObject *pc_chains_type;
extern PyType_Spec pc_chains_type_spec;

/* lint/memory.c: patterns of misuse in the memory records of a trace. */
PyObject *engine_lint_memory(PyObject *self, PyObject *args);

/* guard/log.c, guard/reclaim.c: the records of a checkpoint log, and what is kept of them. */
PyObject *engine_guard_records(PyObject *self, PyObject *args);
PyObject *engine_guard_checksum(PyObject *self, PyObject *args);
PyObject *engine_guard_reclaim(PyObject *self, PyObject *args);

/* guard/authors.c: who made each word of a pool what it is. */
PyObject *engine_guard_authors(PyObject *self, PyObject *args);

/* guard/present.c: what the pools of a log hold, without their history. */
PyObject *engine_guard_present(PyObject *self, PyObject *args);

/* forks/: judging by forks of a check that was started once. */
extern PyTypeObject *pc_fork_server_type;
extern PyType_Spec pc_fork_server_type_spec;

/* Kills and reaps all children of this process; the number reaped, or -1 when some would not die. */
int pc_reap_children(void);

/* One child that is left alone by that, 0 for none; and whether this kernel allows it. */
void pc_spare(pid_t child);
bool pc_can_spare(void);

/* When the parent process is gone: ends the child's group, all else below this process, and this process. */
void pc_end_if_orphaned(pid_t child);

#endif

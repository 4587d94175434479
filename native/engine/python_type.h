/* Types of the extension, by what CPython promises to keep: one build is for every version from 3.11 on, so a
 * type is described and made at run time, and objects are made and freed by what their type says. */
#ifndef POWERCUT_ENGINE_PYTHON_TYPE_H
#define POWERCUT_ENGINE_PYTHON_TYPE_H

#include <Python.h>

/* The forms that look into objects are not kept; these ask. */
#define PyBytes_AS_STRING PyBytes_AsString
#define PyBytes_GET_SIZE  PyBytes_Size
#define PyList_GET_SIZE   PyList_Size
#define PyList_GET_ITEM   PyList_GetItem
#define PyTuple_GET_SIZE  PyTuple_Size
#define PyTuple_GET_ITEM  PyTuple_GetItem

/* NAME_spec, with the slots that follow. */
#define PC_TYPE_SPEC(NAME, PYTHON, STRUCT, ...)                                                              \
    static PyType_Slot NAME##_slots[] = {__VA_ARGS__, {0, NULL}};                                            \
    PyType_Spec NAME##_spec = {                                                                              \
        .name = "powercut._engine." PYTHON,                                                                  \
        .basicsize = sizeof(STRUCT),                                                                         \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,                                              \
        .slots = NAME##_slots,                                                                               \
    };                                                                                                       \
    PyTypeObject *NAME

static inline void *pc_object_new(PyTypeObject *type) {
    return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
}

static inline void pc_object_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

#endif

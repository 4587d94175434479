/* The fork server as Python sees it: made once for a check, asked once for each state.
 *
 * Before: a process that has no children that matter. After each run: as after spawn.c's, but that the zygote
 * is left alone. It ends with the server, with this process, or when the check kills it. */
#include "forks.h"

#include <string.h>

typedef struct {
    PyObject_HEAD struct pc_zygote zygote;
    PyObject *folder, *scratch; /* bytes */
    int output;
    double seconds;
} ForkServer;

static struct pc_private place_of(const ForkServer *server) {
    return (struct pc_private){PyBytes_AsString(server->folder), PyBytes_AsString(server->scratch)};
}

/* Starts the zygote; false with an exception. */
static bool start(ForkServer *server, struct pc_launch *launch, double limit) {
    struct pc_private place = place_of(server);
    double begun = pc_now();
    if (!pc_can_spare()) {
        PyErr_SetString(PyExc_RuntimeError, "the kernel does not list the children of a process");
        return false;
    }
    PyThreadState *python = PyEval_SaveThread();
    bool good = pc_zygote_start(&server->zygote, launch, &place, begun + limit);
    PyEval_RestoreThread(python);
    server->seconds = pc_now() - begun;
    if (!good) {
        PyErr_SetString(PyExc_RuntimeError, server->zygote.reason);
        return false;
    }
    pc_spare(server->zygote.pid);
    return true;
}

static void end(ForkServer *server) {
    if (server->zygote.pid > 0) {
        pc_spare(0);
        pc_zygote_end(&server->zygote);
    }
}

static void server_dealloc(ForkServer *server) {
    end(server);
    Py_XDECREF(server->folder);
    Py_XDECREF(server->scratch);
    pc_object_free((PyObject *)server);
}

static PyObject *server_new(PyTypeObject *type, PyObject *args, PyObject *names) {
    struct pc_launch launch = {0};
    PyObject *argv, *env, *folder, *scratch;
    double limit;
    int strict_from, lenient;
    if (!PyArg_ParseTuple(args, "yO!O!yiiSSdip:ForkServer", &launch.path, &PyList_Type, &argv, &PyList_Type,
                          &env, &launch.cwd, &launch.input, &launch.output, &folder, &scratch, &limit,
                          &strict_from, &lenient)) {
        return NULL;
    }
    ForkServer *server = pc_object_new(type);
    if (server == NULL) {
        return NULL;
    }
    server->folder = Py_NewRef(folder);
    server->scratch = Py_NewRef(scratch);
    server->output = launch.output;
    server->zygote.strict_from = strict_from;
    server->zygote.lenient = lenient != 0;
    if (!pc_launch_take(&launch, argv, env) || !start(server, &launch, limit)) {
        Py_CLEAR(server);
    }
    pc_launch_free(&launch);
    return (PyObject *)server;
}

static PyObject *server_run(ForkServer *server, PyObject *args) {
    static const int started = 0;
    double timeout;
    PyObject *tick;
    if (!PyArg_ParseTuple(args, "dO:run", &timeout, &tick)) {
        return NULL;
    }
    struct pc_private place = place_of(server);
    double begun = pc_now();
    PyThreadState *python = PyEval_SaveThread();
    pid_t child = server->zygote.pid > 0 ? pc_zygote_fork(&server->zygote, &place) : -1;
    PyEval_RestoreThread(python);
    PyObject *ending = child > 0 ? pc_see_to_its_end(child, begun, timeout, server->output, &started, tick)
                                 : Py_NewRef(Py_None);
    pc_zygote_leave(&server->zygote);
    if (child < 0) {
        end(server);
    }
    return ending;
}

static PyObject *server_close(ForkServer *server, PyObject *args) {
    end(server);
    Py_RETURN_NONE;
}

static PyObject *get_alive(ForkServer *server, void *closure) {
    return PyBool_FromLong(server->zygote.pid > 0);
}

static PyObject *get_seconds(ForkServer *server, void *closure) {
    return PyFloat_FromDouble(server->seconds);
}

static PyObject *get_strict_from(ForkServer *server, void *closure) {
    return PyLong_FromLong(server->zygote.strict_from);
}

static PyObject *get_point(ForkServer *server, void *closure) {
    return PyLong_FromUnsignedLongLong(server->zygote.regs.orig_rax);
}

static PyMethodDef server_methods[] = {
    {"run", (PyCFunction)server_run, METH_VARARGS, "Judge by a fork; None if that is not possible."},
    {"close", (PyCFunction)server_close, METH_NOARGS, "End the zygote."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef server_getters[] = {
    {"alive", (getter)get_alive, NULL, "Whether it can be asked.", NULL},
    {"seconds", (getter)get_seconds, NULL, "What starting it took.", NULL},
    {"strict_from", (getter)get_strict_from, NULL, "What another one should be started with.", NULL},
    {"point", (getter)get_point, NULL, "The number of the call before which it waits.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PC_TYPE_SPEC(pc_fork_server_type, "ForkServer", ForkServer,
             {Py_tp_doc, (void *)"A check that was started once and is forked for each state."},
             {Py_tp_new, server_new}, {Py_tp_dealloc, server_dealloc}, {Py_tp_methods, server_methods},
             {Py_tp_getset, server_getters});

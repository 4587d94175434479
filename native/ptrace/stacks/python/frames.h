/* The Python frames of a stopped thread of a CPython process.
 *
 * Before: the process maps a file that exports _PyRuntime. After pc_pyframes: its Python frames, innermost
 * first, as pc_frame entries; none if the interpreter is not (or no longer) set up, its version is not known,
 * or anything in its memory looks wrong. The thread may or may not hold the GIL, so nothing here asks who
 * does.
 */
#ifndef POWERCUT_STACKS_PYTHON_FRAMES_H
#define POWERCUT_STACKS_PYTHON_FRAMES_H

#include "stacks/modules/maps.h"
#include "stacks/python/code_objects.h"
#include "trace_format.h"

#define PC_PY_DEPTH   128u
#define PC_PY_THREADS 16u

struct pc_pythread {
    pid_t tid;
    uint64_t state;        /* address of its PyThreadState */
    uint64_t native_id;    /* what the thread state says; not tid in a forked child */
    struct pc_range chain; /* where its frames lay at the last capture */
};

/* What is known of the interpreter in one process; all zero: nothing yet. */
struct pc_pyprocess {
    bool looked; /* the version has been read */
    bool known;  /* offsets hold */
    uint64_t runtime, code_type;
    struct pc_pyoffsets offsets;
    unsigned next; /* the entry of threads[] to give up next */
    struct pc_pythread threads[PC_PY_THREADS];
};

struct pc_pycontext {
    struct pc_pycodes *codes;
    struct pc_target_memory *memory;
    uint64_t lineage;
    pid_t tgid, tid;
    uint64_t rsp;
};

/* What a capture of the thread will probably read; the number of ranges. */
unsigned pc_pyframes_ranges(const struct pc_pyprocess *process, pid_t tid, struct pc_range *out,
                            unsigned room);

/* The number of frames written to out[], at most room. */
unsigned pc_pyframes(struct pc_pyprocess *process, const struct pc_mapping *python,
                     const struct pc_pycontext *context, struct pc_frame *out, unsigned room);

#endif

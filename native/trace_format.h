/* The powercut trace format, version 1: the one definition of the record layout.
 *
 * A trace is one append-only file. It starts with a file header and goes on with extents, each a 64-byte
 * header and a payload. An extent holds fixed-size records of one kind, or raw bytes ("blobs") that records
 * point at by absolute file offset. Readers map the file and view each extent as an array: nothing is parsed.
 *
 *   0        64            64+E0                  64+E0+E1
 *   +--------+-------------+----------------------+-----------------
 *   | header | extent 0    | extent 1             | extent 2 ...
 *   +--------+-------------+----------------------+-----------------
 *              64 B header
 *              payload of `capacity` bytes, of which `used` are committed
 *
 * Crash safety: the writer maps extents MAP_SHARED, copies a record into place and only then raises `used`
 * (release store). Whatever kills the writer, every record below `used` is whole: a readable prefix remains.
 * A blob is committed before the record that points at it. The file may end in an extent of which only part
 * lies inside the file; readers clip `used` to the file's end, down to whole records.
 *
 * All integers are little-endian. Sizes are asserted below and again by the Python reader's tests.
 *
 *   struct pc_event, 64 bytes
 *    0    2    4        8        12       16
 *   +----+----+--------+--------+--------+----------------+
 *   |kind|flag|  pid   |  tid   | stack  |     inode      |
 *   +----+----+--------+--------+--------+----------------+
 *   24               32               40               48               56       60      64
 *   +----------------+----------------+----------------+----------------+--------+--------+
 *   |     offset     |     length     |      data      |     extra      |  path  | path2  |
 *   +----------------+----------------+----------------+----------------+--------+--------+
 *
 * Events stand in the order in which their calls finished; calls that change the data folder are
 * serialised by the tracer, so that order is the order of their effects.
 */
#ifndef POWERCUT_TRACE_FORMAT_H
#define POWERCUT_TRACE_FORMAT_H

#include <stdint.h>

#define PC_TRACE_MAGIC   "PCUTTRAC" /* 8 bytes, no terminator */
#define PC_TRACE_VERSION 1u
#define PC_EXTENT_MAGIC  0x58454350u /* "PCEX" */
#define PC_EXTENT_ALIGN  64u         /* every extent starts at a multiple of this */

struct pc_file_header {
    char magic[8];
    uint32_t version;
    uint32_t header_size; /* offset of the first extent: 64 */
    uint32_t event_size;  /* sizeof(struct pc_event) */
    uint32_t entry_size;  /* sizeof(struct pc_entry) */
    uint64_t reserved[5];
};

enum pc_extent_kind {
    PC_EXTENT_EVENTS = 1, /* array of struct pc_event */
    PC_EXTENT_TABLE = 2,  /* array of struct pc_entry: interned things, in order of first use */
    PC_EXTENT_BLOBS = 3,  /* raw bytes, each blob 8-byte aligned in the file */
};

struct pc_extent_header {
    uint32_t magic;
    uint32_t kind;
    uint64_t capacity; /* payload bytes reserved; the next extent starts right behind (multiple of 64) */
    uint64_t used;     /* payload bytes committed */
    uint64_t reserved[5];
};

struct pc_event {
    uint16_t kind;  /* enum pc_event_kind */
    uint16_t flags; /* enum pc_event_flag */
    uint32_t pid;   /* process (thread group) */
    uint32_t tid;
    uint32_t stack;  /* PC_TABLE_STACK id, 0: none */
    uint64_t inode;  /* the file or folder the call is about, 0: none */
    uint64_t offset; /* of data in the file */
    uint64_t length; /* of data; see each kind */
    uint64_t data;   /* file offset of the blob, 0: none */
    uint64_t extra;  /* see each kind */
    uint32_t path;   /* PC_TABLE_STRING id, relative to the data folder; "" is the folder itself; 0: none */
    uint32_t path2;
};

/* An owner is the user id, and the group id shifted left by 32.
 * Only calls that succeeded are recorded, with what they really did (a partial write gives its real length).
 * "inode" of a name operation is the inode the name stands for. */
enum pc_event_kind {
    /* The data folder before the program started; pid and tid are 0; parents before children. They may stand
     * behind all others: readers put them first. */
    PC_SNAP_DIR = 1,  /* path, inode, extra: st_mode, offset: owner. The data folder itself comes first, path
                         "".  length 1: it holds more names, of what nothing touched ("rest" among the META) */
    PC_SNAP_FILE = 2, /* path, inode, length: size, extra: st_mode, offset: owner. A second name of an inode
                         comes again */
    PC_SNAP_DATA = 3, /* inode, offset, length, data: content of a file; holes are not written */
    PC_SNAP_SYMLINK = 4, /* path, inode, length, data: target */
    PC_SNAP_OTHER = 5,   /* path, inode, extra: st_mode: fifo, socket, device: not modelled */

    PC_CREATE = 10,  /* path, inode, extra: st_mode, offset: owner: open or mknod made a new regular file.
                        PC_FLAG_TMPFILE: no name yet (path 0). PC_FLAG_IMPORT: moved or linked in from outside;
                        a PC_WRITE follows with its content, with PC_FLAG_IMPORT if that is durable */
    PC_MKDIR = 11,   /* path, inode, extra: st_mode, offset: owner */
    PC_SYMLINK = 12, /* path, inode, length, data: target */
    PC_MKNOD = 13,   /* path, inode, extra: st_mode: fifo, socket, device */
    PC_LINK = 14,    /* path: old name (0 if by descriptor), path2: new name, inode */
    PC_UNLINK = 15,  /* path, inode, extra: links left. PC_FLAG_EXPORT: renamed to outside the data folder */
    PC_RMDIR = 16,   /* path, inode */
    PC_RENAME = 17,  /* path: old, path2: new, inode: moved, extra: inode replaced or 0.
                        PC_FLAG_EXCHANGE: the two swapped */

    PC_WRITE = 20,     /* inode, offset, length, data. PC_FLAG_SYNC/DSYNC: returned only when durable */
    PC_TRUNCATE = 21,  /* inode, length: new size, extra: old size. PC_FLAG_OPEN: by O_TRUNC */
    PC_FALLOCATE = 22, /* inode, offset, length, extra: mode bits of fallocate(2) */
    PC_SETATTR =
        23, /* inode, extra: new st_mode, offset: uid, length: gid (all as they are after the call) */
    PC_SETXATTR = 24, /* inode, path: attribute name, length, data: value */
    PC_DELXATTR = 25, /* inode, path: attribute name */
    PC_CLOSE = 26,    /* inode: a descriptor open for writing was closed */

    PC_FSYNC = 30,     /* inode (file or folder) */
    PC_FDATASYNC = 31, /* inode */
    PC_SYNC = 32,      /* whole machine */
    PC_SYNCFS = 33,    /* inode of the descriptor, 0 if outside, on the user's file system */
    PC_MSYNC =
        34, /* inode, offset, length in the file, extra: MS_ flags; one event for each mapping touched */
    PC_SYNC_RANGE = 35, /* inode, offset, length, extra: flags of sync_file_range: promises nothing */

    PC_MMAP = 40,   /* inode, offset, length, extra: address: a writable shared mapping of a data file */
    PC_OUTPUT = 41, /* length, data, extra: PC_CHANNEL_*: what the program said to the outside */

    PC_EXEC = 50, /* path: program (absolute); data, length: its command line, NUL behind each argument, cut
                     short */
    PC_FORK = 51, /* extra: child pid. PC_FLAG_THREAD: a thread */
    PC_EXIT = 52, /* extra: wait status, when the whole process ended */
    PC_NOTE = 53, /* data, length: text for the user (refused io_uring, call not followed, ...);
                     extra: how often, where it is known */
    PC_SIGNAL =
        54, /* extra: number, offset: address of a fault: a signal that kills most programs; stack: where */

    /* Memory. In the file, memory events stand only as runs; readers put the records of a run in the place of
       the PC_MEMORY event, as events of the kinds that follow it here. */
    PC_MEMORY = 60, /* pid, tid: of the first record; data, length: array of struct pc_memory */
    PC_STORE = 61,  /* inode, offset, length (1 to 8, inside one aligned word), data: the bytes.
                       PC_FLAG_NONTEMPORAL, PC_FLAG_LOCKED, PC_FLAG_KERNEL, PC_FLAG_REST */
    PC_FLUSH =
        62, /* inode, offset of the line, length: 64, extra: PC_FLUSH_*: a cache line is written back */
    PC_FENCE =
        63, /* extra: PC_FENCE_*: the thread's flushes and non-temporal stores before it are complete */
    PC_UNMAP = 64,     /* inode, offset, length: a traced mapping, or a part of one, is gone */
    PC_ASSERTION = 65, /* extra: enum pc_operation of powercut.h: what the program says of its memory; inode
                          (0: of none), offset, length: where */

    /* Only in race mode (docs/race.md). Nothing of this persists. */
    PC_LOAD = 66,      /* inode, offset, length (1 to 8, inside one aligned word), data: the bytes read */
    PC_CANDIDATE = 67, /* inode, offset, length: a load of what was stored and is not guaranteed; extra: its
                          number in the process, from 1 */
    PC_EFFECT = 68, /* extra: number of a candidate; length: PC_EFFECT_*: what stands just before it (a store;
                       the last word, if there are several) or, PC_EFFECT_OUTPUT, the process's next call,
                       depends on it; one event for each candidate */
    PC_ORDER = 69, /* extra: PC_ORDER_*, length: an address or, JOIN, a thread: what orders threads. inode (0:
                      of none), offset: the lock word, if it lies in a mapped file */

    /* What a program looks at (powercut-ptrace --looks), when it asks for it. A trace of looks holds nothing
       of what the program changes, and its names are single ones. A PC_NOTE in it says what was not
       understood. */
    PC_LOOK_NAME = 70,  /* inode: folder, path: a name looked up in it, extra: inode found there, 0: none */
    PC_LOOK_DATA = 71,  /* inode, offset, length: bytes read; at the end of the file they may be fewer */
    PC_LOOK_MAP = 72,   /* inode, offset, length: a mapping */
    PC_LOOK_REMAP = 73, /* some mapping grew */
    PC_LOOK_FACTS = 74, /* inode: its size, mode and number of names */
    PC_LOOK_LIST = 75,  /* inode: the names in a folder */
    PC_LOOK_ATTRIBUTES = 76, /* inode: its extended attributes */
    PC_LOOK_UNSURE = 77,     /* inode: something that images do not model, as where holes are */
    PC_LOOK_CUT = 78,   /* inode, length: no look: the file gets this size, and what lay behind is gone */
    PC_LOOK_PAGES = 79, /* inode, offset, length: pages touched through a mapping */
    PC_LOOK_WORDS = 80, /* inode, offset: of a page; data, length: a bit for each of its words of 8 bytes that
                           was read through a mapping, the first one lowest */
};

/* One memory event, 24 bytes. Records of a process stand in the order in which they took effect: the memory
 * tracer runs one thread at a time. */
struct pc_memory {
    uint64_t value;  /* STORE: the bytes, first one lowest. THREAD: tid. FILE: inode */
    uint64_t offset; /* STORE, FLUSH, UNMAP, ASSERTION: in the file; FLUSH: of the line. UNMAP: value is the
                        length */
    uint32_t stack;  /* PC_TABLE_STACK id, 0: none */
    uint16_t
        file; /* number of the mapped file, given by a FILE record of the same process before its first use */
    uint8_t kind; /* enum pc_memory_kind */
    uint8_t size; /* STORE, LOAD: 1 to 8. FLUSH: PC_FLUSH_*. FENCE: PC_FENCE_* */
};

/* A store of more than one word is one record for each aligned 8-byte word it touches, lowest address first.
 */
enum pc_memory_kind {
    PC_MEMORY_THREAD = 1, /* the records that follow are of thread `value`; first in every run */
    PC_MEMORY_FILE = 2,   /* `file` stands for inode `value` from here on; repeated after fork and exec.
                             0: memory of no file, which only flushes are about */
    PC_MEMORY_STORE = 3,
    PC_MEMORY_STORE_NONTEMPORAL = 4,
    PC_MEMORY_STORE_LOCKED = 5, /* a locked read-modify-write that took effect; a PC_FENCE_LOCKED stands
                                   before it if the thread had anything to wait for */
    PC_MEMORY_STORE_KERNEL = 6, /* by a system call into the mapping */
    PC_MEMORY_FLUSH = 7,
    PC_MEMORY_FENCE = 8,
    PC_MEMORY_UNMAP = 9,
    PC_MEMORY_ASSERTION =
        10, /* value: bytes; size: enum pc_operation; file of inode 0: memory of no file, or no range */
    PC_MEMORY_LOAD = 11,      /* value: the bytes read, first one lowest */
    PC_MEMORY_CANDIDATE = 12, /* value: its number; size: 1 to 8 */
    PC_MEMORY_EFFECT = 13,    /* value: number of the candidate; size: PC_EFFECT_*, several added */
    PC_MEMORY_ORDER = 14,     /* value: address or thread; size: PC_ORDER_*; file of inode 0: in no file */
    PC_MEMORY_REST =
        128, /* added to a STORE or LOAD kind: a further word of the store before it, by one instruction */
};

enum pc_flush { PC_FLUSH_CLFLUSH = 1, PC_FLUSH_CLFLUSHOPT = 2, PC_FLUSH_CLWB = 3 };
enum pc_effect { PC_EFFECT_VALUE = 1, PC_EFFECT_ADDRESS = 2, PC_EFFECT_OUTPUT = 4 };
enum pc_order {
    PC_ORDER_LOCK = 1, /* got it */
    PC_ORDER_UNLOCK = 2,
    PC_ORDER_LOCK_SHARED = 3,
    PC_ORDER_JOIN = 4,      /* the thread has ended, and this one knows */
    PC_ORDER_SEND = 5,      /* a signal, a post, an arrival at a barrier: what was before it ... */
    PC_ORDER_RECEIVE = 6,   /* ... is before what follows this one, at the same address */
    PC_ORDER_STUCK = 7,     /* the thread was here, at that futex, when the program was ended */
    PC_ORDER_SYNC_VAR = 16, /* and its bytes, 1 to 8, added: the program says that this is a lock word;
                               instead of the address: what it holds when it is free */
};
enum pc_fence { PC_FENCE_SFENCE = 1, PC_FENCE_MFENCE = 2, PC_FENCE_LOCKED = 3 };

enum pc_event_flag {
    PC_FLAG_SYNC = 1,
    PC_FLAG_DSYNC = 2,
    PC_FLAG_DIRECT = 4,
    PC_FLAG_APPEND = 8,
    PC_FLAG_TMPFILE = 16,
    PC_FLAG_OPEN = 32,
    PC_FLAG_EXCHANGE = 64,
    PC_FLAG_THREAD = 128,
    PC_FLAG_IMPORT = 256,
    PC_FLAG_EXPORT = 512,
    PC_FLAG_READONLY = 1024, /* PC_FSYNC, PC_FDATASYNC: through a descriptor that cannot write */
    PC_FLAG_NONTEMPORAL = 2048,
    PC_FLAG_LOCKED = 4096,
    PC_FLAG_KERNEL = 8192,
    PC_FLAG_REST = 16384,  /* PC_STORE: a further word of the instruction before it */
    PC_FLAG_ADDED = 32768, /* a sync that the program did not call: put in by the tracer, to try a fix. Of a
                              PC_MEMORY event: all its records are */
};

enum pc_channel { PC_CHANNEL_STDOUT = 1, PC_CHANNEL_STDERR = 2, PC_CHANNEL_SOCKET = 3 };

/* Interned things. Ids count from 1 within each kind, in order of appearance. */
struct pc_entry {
    uint32_t kind; /* enum pc_table_kind */
    uint32_t id;
    uint64_t data; /* blob */
    uint64_t length;
    uint64_t extra;
};

enum pc_table_kind {
    PC_TABLE_STRING = 1, /* bytes: a path or attribute name, any bytes but NUL */
    PC_TABLE_MODULE = 2, /* path, NUL, build-id in hex (may be empty) */
    PC_TABLE_STACK = 3,  /* array of struct pc_frame, innermost first: native frames, then Python frames,
                            then told ones */
    PC_TABLE_PYCODE = 4, /* struct pc_pycode and its three byte strings */
    PC_TABLE_META =
        5, /* key, NUL, value: command (NUL between arguments), cwd, dir, tracer, exit
              ("exited N", "signaled N"), started (Unix seconds), rest (what the data folder holds
              besides what is recorded, image/survey.py), ignore
              (patterns of names that are left out, NUL between them), ignored (how much of that was
              changed, and the first), hidden (names in it not to be shown,
              NUL between them), runtime.PID (the runtime that is followed there: language, NUL, version);
               the last one of a key holds */
    PC_TABLE_TOLD =
        6, /* language, NUL, text: a stack as the language's own runtime tells it (told_format.h) */
};

enum pc_frame_kind {
    PC_FRAME_NATIVE = 1,
    PC_FRAME_PYTHON = 2,
    PC_FRAME_TOLD = 3,  /* a whole stack, of the thread itself */
    PC_FRAME_ASKED = 4, /* a whole stack, of whoever asked the thread for the call */
};

struct pc_frame {
    uint32_t kind;
    uint32_t ref;  /* PC_TABLE_MODULE, PC_TABLE_PYCODE or PC_TABLE_TOLD id; 0: unknown */
    uint64_t addr; /* native: address in the ELF file (p_vaddr space), already moved back into the call
                      instruction for all but the innermost frame; Python: byte offset of the instruction */
};

struct pc_pycode {
    uint32_t version; /* 0x030B for 3.11 */
    uint32_t first_line;
    uint32_t filename_length; /* UTF-8 */
    uint32_t qualname_length; /* UTF-8 */
    uint32_t linetable_length;
    uint32_t reserved;
};

_Static_assert(sizeof(struct pc_file_header) == 64, "file header");
_Static_assert(sizeof(struct pc_extent_header) == 64, "extent header");
_Static_assert(sizeof(struct pc_event) == 64, "event");
_Static_assert(sizeof(struct pc_entry) == 32, "entry");
_Static_assert(sizeof(struct pc_memory) == 24, "memory");
_Static_assert(sizeof(struct pc_frame) == 16, "frame");
_Static_assert(sizeof(struct pc_pycode) == 24, "pycode");

#endif

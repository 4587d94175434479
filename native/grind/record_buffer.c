/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: pc_hello was said. After pc_begin: there is room for them, and what the next records need has been
 * said before them: every run starts with a THREAD record, and every file number is given before its first
 * use.
 *
 * The tracer may close the run at any time: what stands below page->used is whole. It says how far it has
 * closed, so that the next record starts a run.
 */
#include "record_buffer.h"

struct pc_record_buffer pc_record_buffer;

static void empty_buffer(void) {
    if (pc_record_buffer.next != NULL)
        pc_request_empty();
    pc_record_buffer.next = pc_records;
    pc_record_buffer.end = pc_records + PC_CHANNEL_BUFFER / sizeof(*pc_records);
    pc_record_buffer.used = 0;
}

static void put(struct pc_memory record) {
    *pc_record_buffer.next = record;
    pc_commit(1);
}

struct pc_memory *pc_begin_slowly(Int file, UInt count) {
    tl_assert(count <= PC_MOST_AT_ONCE);
    if (pc_record_buffer.end - pc_record_buffer.next < (Long)count + 2) /* a thread, a file */
        empty_buffer();
    if (pc_page->closed == pc_record_buffer.used || pc_record_buffer.thread != pc_thread_id)
        put((struct pc_memory){.kind = PC_MEMORY_THREAD, .value = (ULong)pc_thread_id});
    pc_record_buffer.thread = pc_thread_id;
    if (file >= 0 && !pc_files[file].announced) {
        put((struct pc_memory){.kind = PC_MEMORY_FILE, .value = pc_files[file].inode, .file = (UShort)file});
        pc_files[file].announced = True;
    }
    return pc_record_buffer.next;
}

void pc_record_buffer_forked(void) {
    pc_record_buffer = (struct pc_record_buffer){0};
    for (UInt i = 0; i < pc_file_count; i++)
        pc_files[i].announced = False;
}

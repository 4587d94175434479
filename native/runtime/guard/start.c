/* Where a guarded program begins: `powercut guard` gives the log in the environment.
 *
 *   POWERCUT_GUARD         the folder of the log
 *   POWERCUT_GUARD_NEXT    "segment sequence": the first numbers that are free
 *   POWERCUT_GUARD_KNOWN   "number device inode", one pool a line: those the log knows
 *   POWERCUT_GUARD_POOLS   paths, one a line: further files to guard when they are mapped
 *
 * The service may be a script that starts it, or fork first: the log begins with the first pool that is
 * mapped, and belongs to the program that does. Others are not guarded: the log has one writer. */
#define _GNU_SOURCE
#include "start.h"
#include "complain.h"
#include "faults.h"
#include "log.h"
#include "pools.h"

#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int tell_module(struct dl_phdr_info *object, size_t size, void *program) {
    const char *path = *object->dlpi_name ? object->dlpi_name : program;
    pc_log_put(&(struct pc_log_entry){
        .kind = PC_GUARD_MODULE, .offset = object->dlpi_addr, .data = path, .size = strlen(path)});
    return 0;
}

static void know_pools(const char *list) {
    unsigned number;
    unsigned long long device, inode;
    for (int length; list && sscanf(list, "%u %llu %llu\n%n", &number, &device, &inode, &length) == 3;
         list += length)
        pc_pool_known(number, device, inode);
}

static void note_faults(const char *folder) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/fault", folder);
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0)
        pc_faults_note(file);
}

static char *folder, *next, *known; /* copies: programs that show a title write over their environment */

static char *given(const char *name) {
    const char *text = getenv(name);
    return text ? strdup(text) : NULL;
}

static void begin(void) {
    unsigned long long segment, sequence;
    char *program = realpath("/proc/self/exe", NULL);
    if (!folder || !next || !program)
        return;
    if (sscanf(next, "%llu %llu", &segment, &sequence) != 2 || !pc_log_open(folder, segment, sequence)) {
        complain("this program is not guarded [guard-not-started]");
        return;
    }
    know_pools(known);
    unsetenv("POWERCUT_GUARD_NEXT"); /* so that what it starts does not write the same numbers */
    pthread_atfork(NULL, NULL, pc_log_leave);
    pc_log_put(&(struct pc_log_entry){
        .kind = PC_GUARD_START, .offset = (uint64_t)time(NULL), .data = program, .size = strlen(program)});
    dl_iterate_phdr(tell_module, program);
    pc_log_sync(); /* sites of another run's program would be taken for this one's */
    free(program);
}

bool pc_guard_begins(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, begin);
    return pc_log_is_open();
}

/* Before main: handlers of the program's own come after ours, and stay. */
static __attribute__((constructor)) void start(void) {
    folder = given("POWERCUT_GUARD");
    next = given("POWERCUT_GUARD_NEXT");
    known = given("POWERCUT_GUARD_KNOWN");
    if (folder && next)
        note_faults(folder);
}

static __attribute__((destructor)) void end(void) {
    pc_log_write_staged();
    pc_log_settle();
}

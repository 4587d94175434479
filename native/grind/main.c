/* SPDX-License-Identifier: GPL-2.0-or-later */
/* powercut-grind: the memory tracer, a tool for Valgrind.
 *
 * It runs the program and writes its stores, flushes and fences in shared mappings of files in the data
 * folder into the trace (trace_format.h). It is started by powercut-ptrace, under whose eyes it runs
 * (channel.h).
 */
#include "calls.h"
#include "core.h"
#include "instrument.h"
#include "limits.h"
#include "program.h"
#include "race/race.h"
#include "ranges.h"
#include "requests.h"
#include "stacks.h"
#include "taint/faults.h"
#include "taint/origins.h"
#include "taint/taint.h"
#include "threads.h"
#include "versions.h"

static Bool on_option(const HChar *argument) {
    return pc_core_option(argument) || pc_program_option(argument) || pc_request_option(argument) ||
           pc_stacks_option(argument) || pc_origins_option(argument) || pc_board_option(argument) ||
           pc_versions_option(argument);
}

static void usage(void) {
    VG_(printf)("    --channel=N --messages=N   given by powercut-ptrace\n"
                "    --labels=N                 where data comes from (taint/board.h)\n"
                "    --versions=0|1             fast code where nothing of interest happens [1]\n"
                "    --race=N                   race mode, with this board\n"
                "    --stacks=no|yes            record call stacks [yes]\n");
}

static void debug_usage(void) {
}

static void after_options(void) {
    pc_core_redirect_messages();
    pc_program_rename(); /* finds the arguments by the environment: before that changes */
    pc_core_clean_environment();
    pc_race_start();
    pc_limits_init();
    pc_hello();
    pc_origins_open();
}

static void at_end(Int status) {
    pc_race_at_end();
}

static void before_options(void) {
    VG_(details_name)("powercut-grind");
    VG_(details_version)(NULL);
    VG_(details_description)("the memory tracer of powercut");
    VG_(details_copyright_author)("GPL-2.0-or-later");
    VG_(details_bug_reports_to)("powercut");
    VG_(basic_tool_funcs)(after_options, pc_instrument, at_end);
    VG_(needs_command_line_options)(on_option, usage, debug_usage);
    pc_threads_init();
    pc_stacks_init();
    pc_calls_init();
    pc_faults_init();
    pc_ranges_changed = pc_taint_ranges_changed;
}

VG_DETERMINE_INTERFACE_VERSION(before_options)

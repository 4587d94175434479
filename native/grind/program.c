/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valgrind executes itself in place of a program that is executed, with the program's path as an argument.
 * Two things get lost: argv[0], which becomes the path, and the meaning of /proc/self/exe, which is then
 * Valgrind. Both are handed over as options:
 *
 *   --program-name=NAME   what argv[0] was
 *   --program-file=PATH   what /proc/self/exe was
 *
 * Before: a program calls execve. After: the next program finds argv[0] as given, if it is not longer than
 * the path (it is written over it), and the right file is run.
 */
#include "program.h"

#include "pub_tool_xarray.h"

#define NAME_OPTION "--program-name="
#define FILE_OPTION "--program-file="
#define LONGEST     4096

static const HChar *name;

Bool pc_program_option(const HChar *argument) {
    if (VG_(strncmp)(argument, FILE_OPTION, VG_(strlen)(FILE_OPTION)) == 0)
        return True; /* has done its work */
    return VG_STR_CLO(argument, "--program-name", name);
}

/* The place of an option among Valgrind's arguments; made if it is not there. */
static const HChar **place_of(const HChar *option) {
    XArray *arguments = VG_(args_for_valgrind);
    for (Word i = 0; i < VG_(sizeXA)(arguments); i++) {
        const HChar **at = VG_(indexXA)(arguments, i);
        if (VG_(strncmp)(*at, option, VG_(strlen)(option)) == 0)
            return at;
    }
    const HChar *empty = option;
    return VG_(indexXA)(arguments, VG_(addToXA)(arguments, &empty));
}

void pc_option_set(const HChar *option, const HChar *value) {
    SizeT length = VG_(strlen)(option) + VG_(strlen)(value) + 1;
    HChar *text = VG_(malloc)("powercut.program", length);
    VG_(snprintf)(text, (Int)length, "%s%s", option, value);
    *place_of(option) = text; /* what was there is not worth freeing: it may be the kernel's */
}

static Bool is_own_link(const HChar *program) {
    HChar own[64];
    VG_(snprintf)(own, sizeof(own), "/proc/%d/exe", VG_(getpid)());
    return VG_(strcmp)(program, "/proc/self/exe") == 0 || VG_(strcmp)(program, own) == 0;
}

void pc_program_hand_over(const HChar *program, const HChar *argument) {
    HChar link[64], path[LONGEST] = "";
    if (is_own_link(program)) {
        VG_(snprintf)(link, sizeof(link), "/proc/self/fd/%d", VG_(cl_exec_fd));
        SSizeT length = VG_(readlink)(link, path, sizeof(path) - 1);
        path[length < 0 ? 0 : length] = '\0';
    }
    pc_option_set(FILE_OPTION, path);
    pc_option_set(NAME_OPTION, argument != NULL ? argument : "");
}

void pc_program_find(HChar **envp) {
    HChar **at = envp - 1; /* the end of the arguments */
    const HChar *path = NULL;
    while (at[-1] != NULL && (Addr)at[-1] > 4096) /* down to their number, which is no address */
        at--;
    for (at++; at < envp - 1 && (*at)[0] == '-'; at++)
        if (VG_(strncmp)(*at, FILE_OPTION, VG_(strlen)(FILE_OPTION)) == 0)
            path = *at + VG_(strlen)(FILE_OPTION);
    if (at < envp - 1 && path != NULL && path[0] != '\0')
        *at = (HChar *)path;
}

void pc_program_rename(void) {
    HChar **argv = VG_(client_envp) - 1;
    SizeT count = (SizeT)VG_(sizeXA)(VG_(args_for_client));
    if (name == NULL || name[0] == '\0')
        return;
    argv -= count + 1;
    /* For a script Valgrind puts the interpreter first: then argv[0] is no matter of the one who called. */
    if (VG_(strcmp)(*argv, VG_(args_the_exename)) == 0 && VG_(strlen)(name) <= VG_(strlen)(*argv))
        VG_(strcpy)(*argv, name);
}

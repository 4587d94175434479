/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: Valgrind has kept descriptors for itself, above those of the program, and answers getrlimit and
 * setrlimit so that the program cannot get at them: the hard limit looks as low as the soft one, and setting
 * any other fails. A limit of memory or time would be one of Valgrind, which needs many times as much. After:
 * the program can set and read each limit as it could without Valgrind, as services do when they start (more
 * or fewer descriptors than they got). Limits of memory and time are noted, and do not hold.
 */
#include "limits.h"

#define MOST_FILES 0x7fffffff /* that Valgrind can hold */
#define SECONDS    0          /* RLIMIT_CPU and RLIMIT_AS: Valgrind's headers have no names for them */
#define MEMORY     9

extern Int VG_(getrlimit)(Int resource, struct vki_rlimit *limit);

static struct vki_rlimit files;                        /* as the program knows them */
static struct vki_rlimit memory, seconds;              /* what it set; */
static Bool has_memory, has_seconds;                   /* if it did */
static struct vki_rlimit *replaced, wanted, old_files; /* during a call; NULL: nothing was replaced */
static Int kept; /* Valgrind's own bound, during a call that sets; 0: none */

void pc_limits_init(void) {
    if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &files) != 0)
        files = (struct vki_rlimit){VG_(fd_soft_limit), VG_(fd_hard_limit)};
    /* Valgrind raises the soft limit for its own, as far as the hard one lets it. */
    if (files.rlim_cur < files.rlim_max)
        files.rlim_cur = VG_(fd_soft_limit);
}

/* The limits that a call reads and those that it writes; False: it is no such call, or about another process.
 */
static Bool find(UInt number, const UWord *args, UWord *resource, Addr *set, Addr *get) {
    *set = *get = 0;
    switch (number) {
    case __NR_setrlimit:
        *resource = args[0];
        *set = args[1];
        return True;
    case __NR_getrlimit:
        *resource = args[0];
        *get = args[1];
        return True;
    case __NR_prlimit64:
        *resource = args[1];
        *set = args[2];
        *get = args[3];
        return args[0] == 0 || (Int)args[0] == VG_(getpid)();
    default:
        return False;
    }
}

static Bool can_be(Addr at, UInt protection) {
    return at != 0 && VG_(am_is_valid_for_client)(at, sizeof(struct vki_rlimit), protection);
}

/* Whether the kernel would do it: only root gets more than there was. */
static Bool may_set_files(const struct vki_rlimit *limit) {
    return limit->rlim_cur <= limit->rlim_max && limit->rlim_max <= MOST_FILES &&
           (limit->rlim_max <= files.rlim_max || VG_(geteuid)() == 0);
}

/* Valgrind takes a hard limit that equals its own bound. */
static void before_set_files(void) {
    if (!may_set_files(&wanted))
        return;
    kept = VG_(fd_hard_limit);
    VG_(fd_hard_limit) = (Int)wanted.rlim_max;
}

/* The kernel is told what holds already. */
static void before_set_other(UWord resource, Addr set) {
    struct vki_rlimit now;
    if (!can_be(set, VKI_PROT_WRITE) || wanted.rlim_cur > wanted.rlim_max ||
        VG_(getrlimit)((Int)resource, &now) != 0)
        return;
    replaced = (struct vki_rlimit *)set;
    *replaced = now;
}

static Bool is_noted(UWord resource) {
    return resource == MEMORY || resource == SECONDS;
}

void pc_limits_before_call(UInt number, const UWord *args) {
    UWord resource;
    Addr set, get;
    if (!find(number, args, &resource, &set, &get) || !can_be(set, VKI_PROT_READ))
        return;
    wanted = *(struct vki_rlimit *)set;
    old_files = files;
    if (resource == VKI_RLIMIT_NOFILE)
        before_set_files();
    else if (is_noted(resource))
        before_set_other(resource, set);
}

static void after_set_other(UWord resource, Bool is_good) {
    *replaced = wanted;
    replaced = NULL;
    if (!is_good)
        return;
    *(resource == MEMORY ? &memory : &seconds) = wanted;
    *(resource == MEMORY ? &has_memory : &has_seconds) = True;
}

void pc_limits_after_call(UInt number, const UWord *args, SysRes result) {
    UWord resource;
    Addr set, get;
    if (!find(number, args, &resource, &set, &get))
        return;
    struct vki_rlimit then = kept ? old_files : files;
    if (kept) {
        VG_(fd_hard_limit) = kept;
        kept = 0;
        files = sr_isError(result) ? files : wanted;
    }
    if (replaced)
        after_set_other(resource, !sr_isError(result));
    if (sr_isError(result) || get == 0)
        return;
    if (resource == VKI_RLIMIT_NOFILE)
        *(struct vki_rlimit *)get = then;
    else if (resource == MEMORY && has_memory && !set)
        *(struct vki_rlimit *)get = memory;
    else if (resource == SECONDS && has_seconds && !set)
        *(struct vki_rlimit *)get = seconds;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Before: a program sets how many files it may open. After: what the kernel would allow was done.
 *
 * Valgrind keeps these limits to itself, and refuses every maximum but the one that it tells. A server that
 * asks for as many files as it needs, and no more, would give up. So the maximum that Valgrind compares with
 * is, for the time of the call, the one that is asked for, if that is allowed. Valgrind's own descriptors,
 * and ours, lie behind its first maximum, and there is their place.
 */
#include "file_limits.h"

static Int most_before = -1; /* less than 0: no call is under way */

/* The limit that a call is about to set; NULL: none, or not that of open files of this process. */
static const struct vki_rlimit *wanted(UInt number, const UWord *args) {
    UWord resource = number == __NR_prlimit64 ? args[1] : args[0];
    UWord limit = number == __NR_prlimit64 ? args[2] : args[1];
    Bool sets = number == __NR_setrlimit ||
                (number == __NR_prlimit64 && (args[0] == 0 || (Int)args[0] == VG_(getpid)()));
    if (!sets || resource != VKI_RLIMIT_NOFILE ||
        !VG_(am_is_valid_for_client)((Addr)limit, sizeof(struct vki_rlimit), VKI_PROT_READ))
        return NULL;
    return (const struct vki_rlimit *)limit;
}

/* Whether the kernel allows the maximum; if that takes more than there is now, there is more then. */
static Bool is_allowed(UWord most) {
    struct vki_rlimit limit;
    if (VG_(getrlimit)(VKI_RLIMIT_NOFILE, &limit) != 0)
        return False;
    if (most <= limit.rlim_max)
        return True;
    limit.rlim_max = most;
    return VG_(setrlimit)(VKI_RLIMIT_NOFILE, &limit) == 0;
}

void pc_file_limits_before_call(UInt number, const UWord *args) {
    const struct vki_rlimit *limit = wanted(number, args);
    if (limit == NULL || limit->rlim_cur > limit->rlim_max || limit->rlim_max > 0x7fffffff ||
        !is_allowed(limit->rlim_max))
        return;
    most_before = VG_(fd_hard_limit);
    VG_(fd_hard_limit) = (Int)limit->rlim_max;
}

void pc_file_limits_after_call(UInt number, const UWord *args) {
    if (most_before < 0)
        return;
    if (VG_(fd_hard_limit) > most_before)
        VG_(fd_hard_limit) = most_before;
    if (VG_(fd_soft_limit) > VG_(fd_hard_limit))
        VG_(fd_soft_limit) = VG_(fd_hard_limit);
    most_before = -1;
}

/* The seccomp filter that makes the kernel stop a traced process only at calls that can matter for what is on
 * disk or what was said to the outside. Stands alone: it is also linked into the Python extension. */
#ifndef POWERCUT_FILTER_H
#define POWERCUT_FILTER_H

/* Sets no_new_privs and installs the filter on the calling thread; its children inherit it. The tracer must
 * already trace the thread with PTRACE_O_TRACESECCOMP, or the filtered calls fail with ENOSYS.
 * Returns 0 or -errno. Does only system calls: safe between fork and exec. */
int pc_install_filter(void);

#endif

/* The few words of the kernel's filter language that our filters are written in. */
#ifndef POWERCUT_BPF_H
#define POWERCUT_BPF_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define LOAD(field)           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LOAD_HIGH(field)      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4)
#define SKIP_IF_EQ(k, n)      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), (n), 0)
#define SKIP_UNLESS_EQ(k, n)  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (k), 0, (n))
#define SKIP_UNLESS_ANY(k, n) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), 0, (n))
#define SKIP_IF_ANY(k, n)     BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (k), (n), 0)
#define SKIP_IF_MORE(k, n)    BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (k), (n), 0)
#define RETURN(action)        BPF_STMT(BPF_RET | BPF_K, (action))
#define ALLOW                 RETURN(SECCOMP_RET_ALLOW)
#define TRACE                 RETURN(SECCOMP_RET_TRACE)

#endif

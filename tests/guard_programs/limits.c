/* Sets and reads limits as services do when they start, and prints what comes of each; then it fails.
 *
 *   limits */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void tell(const char *what, int failed, struct rlimit limit) {
    printf("%s: %s %llu %llu\n", what, failed ? strerror(errno) : "good",
           (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
}

static void set(const char *what, int resource, rlim_t soft, rlim_t hard) {
    static struct rlimit limit, now;
    limit = (struct rlimit){soft, hard};
    int failed = setrlimit(resource, &limit);
    tell(what, failed, limit);
    tell("  now", getrlimit(resource, &now), now);
}

int main(void) {
    struct rlimit files, old, less = {200, 300};
    tell("files", getrlimit(RLIMIT_NOFILE, &files), files);
    set("as many as can be", RLIMIT_NOFILE, files.rlim_max, files.rlim_max);
    set("fewer", RLIMIT_NOFILE, 256, files.rlim_max);
    set("more than the most", RLIMIT_NOFILE, 400, 300);
    set("fewer for ever", RLIMIT_NOFILE, 256, 512);
    tell("exchanged", prlimit(0, RLIMIT_NOFILE, &less, &old), old);
    tell("then", prlimit(0, RLIMIT_NOFILE, NULL, &old), old);
    set("memory", RLIMIT_AS, 1ul << 30, RLIM_INFINITY);
    set("time", RLIMIT_CPU, 2, 100);
    void *large = malloc(100 << 20);
    printf("%s\n", large ? "room" : "no room");
    fflush(stdout);
    return 3;
}

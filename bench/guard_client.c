/* guard_client SOCKET REQUESTS: asks a service of corpus/hardfaults, one request after the answer to the
 * last.
 *
 * Requests set and get keys in turn. Prints the microseconds from request to answer: by the clock, and of the
 * processor for the service. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 500, FIRST = 2000 }; /* requests that are not counted */

static double microseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int connect_to(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int service = socket(AF_UNIX, SOCK_STREAM, 0);
    strncpy(name.sun_path, path, sizeof name.sun_path - 1);
    if (connect(service, (struct sockaddr *)&name, sizeof name) != 0) {
        perror(path);
        exit(9);
    }
    return service;
}

static void ask(int service, const char *request) {
    char answer[512];
    ssize_t got = 0;
    if (write(service, request, strlen(request)) < 0)
        exit(8);
    do {
        ssize_t more = read(service, answer + got, sizeof answer - (size_t)got);
        if (more <= 0)
            exit(8);
        got += more;
    } while (answer[got - 1] != '\n');
    if (memcmp(answer, "ERROR", 5) == 0)
        exit(8);
}

static void load(int service, long count) {
    char request[128];
    for (long i = 0; i < count; i++) {
        if (i % 2 == 0)
            snprintf(request, sizeof request, "set key-%ld value-%032ld\n", i / 2 % KEYS, i);
        else
            snprintf(request, sizeof request, "get key-%ld\n", i * 7 % KEYS);
        ask(service, request);
    }
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 9;
    int service = connect_to(argv[1]);
    long requests = atol(argv[2]);
    struct ucred peer;
    socklen_t size = sizeof peer;
    clockid_t processor;
    getsockopt(service, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    if (clock_getcpuclockid(peer.pid, &processor) != 0)
        return 9;
    load(service, FIRST);
    double began = microseconds(CLOCK_MONOTONIC), used = microseconds(processor);
    load(service, requests);
    double took = microseconds(CLOCK_MONOTONIC) - began;
    used = microseconds(processor) - used;
    printf("%f %f\n", took / (double)requests, used / (double)requests);
    return 0;
}

#define _GNU_SOURCE
#include "service.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define POOL_BYTES ((size_t)16 << 20)
#define PROBES     64

PMEMobjpool *pool;
static const struct service *running;

void persist(const void *address, size_t length) {
    pmemobj_persist(pool, address, length);
}

uint64_t hash_of(const char *key) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *key; key++)
        hash = (hash ^ (unsigned char)*key) * 0x100000001b3u;
    hash ^= hash >> 33;
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

static void answer_line(char *line, char answer[ANSWER]) {
    char *rest = line, *words[3];
    for (int i = 0; i < 3; i++) {
        char *word = strsep(&rest, " ");
        words[i] = word ? word : "";
    }
    snprintf(answer, ANSWER, "ERROR");
    running->request(words[0], words[1], words[2], answer);
}

static void *serve_client(void *descriptor) {
    int client = (int)(intptr_t)descriptor;
    FILE *requests = fdopen(client, "r");
    char *line = NULL, answer[ANSWER];
    size_t room = 0;
    while (getline(&line, &room, requests) > 0) {
        line[strcspn(line, "\n")] = 0;
        answer_line(line, answer);
        if (dprintf(client, "%s\n", answer) < 0)
            break;
    }
    free(line);
    fclose(requests);
    return NULL;
}

static int serve(const char *path) {
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    strncpy(name.sun_path, path, sizeof name.sun_path - 1);
    unlink(path);
    int door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(door, (struct sockaddr *)&name, sizeof name) != 0 || listen(door, 16) != 0) {
        perror(path);
        return 9;
    }
    for (;;) {
        int client = accept(door, NULL, NULL);
        pthread_t thread;
        if (client >= 0 && pthread_create(&thread, NULL, serve_client, (void *)(intptr_t)client) == 0)
            pthread_detach(thread);
    }
}

/* A client's point of view: what was set is there. */
static const char *probe(void) {
    char line[64], answer[ANSWER], value[16];
    for (int i = 0; i < PROBES; i++) {
        snprintf(value, sizeof value, "probe%d", i);
        snprintf(line, sizeof line, "set check-%d %s", i, value);
        answer_line(line, answer);
        if (strcmp(answer, "OK") != 0)
            return "a probe is not accepted";
        snprintf(line, sizeof line, "get check-%d", i);
        answer_line(line, answer);
        if (strcmp(answer, value) != 0)
            return "a probe is lost";
    }
    if (running->probe) {
        snprintf(line, sizeof line, "%s", running->probe);
        answer_line(line, answer);
        if (strcmp(answer, "OK") != 0)
            return "a request is not served";
    }
    return NULL;
}

int run_service(int argc, char **argv, const struct service *service) {
    if (argc < 3)
        return 9;
    running = service;
    pool = access(argv[1], F_OK) == 0 ? pmemobj_open(argv[1], service->name)
                                      : pmemobj_create(argv[1], service->name, POOL_BYTES, 0600);
    if (!pool) {
        fprintf(stderr, "%s: %s\n", argv[1], pmemobj_errormsg());
        return 9;
    }
    service->recover(pmemobj_direct(pmemobj_root(pool, service->root_bytes)));
    if (strcmp(argv[2], "serve") == 0 && argc > 3)
        return serve(argv[3]);
    const char *wrong = service->check();
    if (!wrong)
        wrong = probe();
    if (wrong) {
        fprintf(stderr, "%s\n", wrong);
        return 1;
    }
    pmemobj_close(pool);
    return 0;
}

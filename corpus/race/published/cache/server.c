/* The server: a thread for each client, and how the cache is started. */
#include "cache.h"

#include <netinet/in.h>
#include <sys/socket.h>

struct pool *pool;

enum { BUFFER = 4096, ANSWER = 64 };

/* Clients */

static void send_all(int client, const char *text, size_t length) {
    while (length > 0) {
        ssize_t sent = send(client, text, length, MSG_NOSIGNAL);
        if (sent <= 0)
            return; /* it has gone, and so will we */
        text += sent;
        length -= (size_t)sent;
    }
}

/* Carry out all whole lines of a buffer, and answer them; what is left of it. */
static size_t carry_out_lines(int client, char *buffer, size_t length) {
    char answers[BUFFER], *line = buffer, *end;
    size_t answered = 0;
    while ((end = memchr(line, '\n', length - (size_t)(line - buffer)))) {
        char answer[ANSWER];
        *end = '\0';
        carry_out(line, answer, sizeof answer);
        answered += (size_t)snprintf(answers + answered, sizeof answers - answered, "%s\n", answer);
        if (answered > sizeof answers - ANSWER) {
            send_all(client, answers, answered);
            answered = 0;
        }
        line = end + 1;
    }
    send_all(client, answers, answered);
    size_t left = length - (size_t)(line - buffer);
    memmove(buffer, line, left);
    return left;
}

static void *serve_client(void *number) {
    int client = (int)(intptr_t)number;
    char buffer[BUFFER];
    size_t length = 0;
    ssize_t got;
    send_all(client, "READY\n", 6);
    while (length < sizeof buffer && (got = read(client, buffer + length, sizeof buffer - length)) > 0)
        length = carry_out_lines(client, buffer, length + (size_t)got);
    close(client);
    return NULL;
}

static void serve(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int server = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    need(server >= 0 && setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0, "socket");
    need(bind(server, (struct sockaddr *)&address, sizeof address) == 0, "bind");
    need(listen(server, MOST_THREADS) == 0, "listen");
    for (;;) {
        pthread_t thread;
        int client = accept(server, NULL, NULL);
        need(client >= 0, "accept");
        need(pthread_create(&thread, NULL, serve_client, (void *)(intptr_t)client) == 0, "pthread_create");
        pthread_detach(thread);
    }
}

/* Starting */

static void map_pool(const char *folder, bool make) {
    need(chdir(folder) == 0, folder);
    int file = open("pool", O_RDWR | (make ? O_CREAT | O_EXCL : 0), 0644);
    need(file >= 0, "the pool cannot be opened");
    need(!make || ftruncate(file, sizeof *pool) == 0, "ftruncate");
    need(lseek(file, 0, SEEK_END) == sizeof *pool, "the pool has another size");
    pool = mmap(NULL, sizeof *pool, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    need(pool != MAP_FAILED, "mmap");
    close(file);
}

/* Whatever a power cut has left becomes a cache that can be used, or is refused. */
static void start(void) {
    check_pages();
    check_items();
    recover_pages();
    recover_items();
}

int main(int argc, char **argv) {
    const char *what = argc > 2 ? argv[2] : "";
    bool make = strcmp(what, "create") == 0, serves = strcmp(what, "serve") == 0 && argc == 4;
    bool verify = strcmp(what, "verify") == 0;
    if (!make && !serves && !verify && strcmp(what, "recover") != 0) {
        fprintf(stderr, "usage: %s FOLDER create | serve PORT | recover | verify\n", argv[0]);
        return 2;
    }
    map_pool(argv[1], make);
    if (make)
        return 0; /* a pool of zeros holds nothing */
    start();
    if (verify)
        check_slabs();
    if (serves)
        serve(argv[3]);
    return 0;
}

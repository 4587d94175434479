/* A client of the cache: reads lines of the form CONNECTION COMMAND, opens as many connections as that needs,
 * sends each its commands, all of them at once, and says what is answered.
 *
 *     client PORT */
#include "../../threads.h"

#include <netinet/in.h>
#include <sys/socket.h>

enum { MOST_BYTES = 1 << 20 };

static struct connection {
    char commands[MOST_BYTES];
    size_t length;
    int socket;
} connections[MOST_THREADS];

/* How many connections there are to be. */
static int read_commands(void) {
    char line[128];
    int count = 1;
    while (fgets(line, sizeof line, stdin)) {
        int number, start = 0;
        if (sscanf(line, "%d %n", &number, &start) != 1 || number < 0 || number >= MOST_THREADS) {
            say("refused: %.*s", (int)strcspn(line, "\n"), line);
            continue;
        }
        struct connection *connection = &connections[number];
        size_t length = strlen(line + start);
        need(connection->length + length <= MOST_BYTES, "too many commands");
        memcpy(connection->commands + connection->length, line + start, length);
        connection->length += length;
        count = number >= count ? number + 1 : count;
    }
    return count;
}

static void open_connection(struct connection *connection, const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    char greeting[6];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    need(connect(connection->socket, (struct sockaddr *)&address, sizeof address) == 0, "connect");
    need(recv(connection->socket, greeting, sizeof greeting, MSG_WAITALL) == sizeof greeting, "greeting");
}

/* Send all commands, and say all answers, of one connection. */
static void *talk(void *number) {
    struct connection *connection = &connections[(intptr_t)number];
    char line[128];
    FILE *answers = fdopen(connection->socket, "r");
    size_t wanted = 0;
    for (size_t sent = 0; sent < connection->length;) {
        ssize_t now = send(connection->socket, connection->commands + sent, connection->length - sent, 0);
        need(now > 0, "send");
        sent += (size_t)now;
    }
    for (size_t i = 0; i < connection->length; i++)
        wanted += connection->commands[i] == '\n';
    for (; wanted > 0; wanted--) {
        need(fgets(line, sizeof line, answers) != NULL, "the server has gone");
        say("%.*s", (int)strcspn(line, "\n"), line);
    }
    fclose(answers);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s PORT\n", argv[0]);
        return 2;
    }
    int count = read_commands();
    for (int i = 0; i < count; i++)
        open_connection(&connections[i], argv[1]);
    together(count, talk);
    return 0;
}

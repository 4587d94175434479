/* The steps of two threads alternate. */
#include "../several.h"
#include <pthread.h>
#include <semaphore.h>

static sem_t turn[2];

static void give(int who) {
    sem_post(&turn[1 - who]);
    sem_wait(&turn[who]);
}

static void *replacer(void *unused) {
    sem_wait(&turn[0]);
    int fd = open("state.new", O_WRONLY | O_CREAT, 0644);
    need(fd >= 0 && write(fd, "new\n", 4) == 4, "state.new"); // LOST a
    give(0);
    need(!mended('a') || fsync(fd) == 0, "fsync");
    need(rename("state.new", "state") == 0, "rename"); // SURVIVED a
    sem_post(&turn[1]);
    return unused;
}

static void *logger(void *unused) {
    sem_wait(&turn[1]);
    int fd = open("log", O_WRONLY | O_CREAT, 0644);
    need(fd >= 0 && write(fd, "hello\n", 6) == 6, "log"); // LOST b
    give(1);
    need(!mended('b') || fsync(fd) == 0, "fsync");
    say("logged"); // ACKED b
    return unused;
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    pthread_t threads[2];
    sem_init(&turn[0], 0, 1);
    sem_init(&turn[1], 0, 0);
    pthread_create(&threads[0], NULL, replacer, NULL);
    pthread_create(&threads[1], NULL, logger, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    return 0;
}

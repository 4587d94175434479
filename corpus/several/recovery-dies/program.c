/* A queue is made, then its first entry is served. */
#include "../several.h"

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    int queue = open("queue", O_WRONLY | O_CREAT, 0644);                     // SURVIVED a
    need(queue >= 0 && write(queue, "\3one", 4) == 4, "queue");              // LOST a SURVIVED a
    need(fsync(queue) == 0 && fsync(open(".", O_RDONLY)) == 0, "fsync");

    int marks = open("marks", O_WRONLY);
    need(marks >= 0 && pwrite(marks, "+", 1, 0) == 1, "marks"); // LOST b
    need(!mended('b') || fsync(marks) == 0, "fsync");
    say("served"); // ACKED b
    return 0;
}

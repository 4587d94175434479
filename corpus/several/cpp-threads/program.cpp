// A class that writes files, and two threads that use it, one after the other.
#include "../several.h"
#include <string>
#include <thread>

class File {
  public:
    explicit File(const char *name) : fd(open(name, O_WRONLY | O_CREAT | O_APPEND, 0644)) { need(fd >= 0, name); }
    ~File() { close(fd); }
    void put(const std::string &text) {
        need(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write"); // LOST a b
    }
    void sync() { need(fsync(fd) == 0, "fsync"); }

  private:
    int fd;
};

static void log() {
    File file("log");
    file.put("started\n"); // LOST a
    if (mended('a'))
        file.sync();
    say("started"); // ACKED a
}

static void save() {
    File file("state.new");
    file.put("new\n"); // LOST b
    if (mended('b'))
        file.sync();
    need(rename("state.new", "state") == 0, "rename"); // SURVIVED b
    need(fsync(open(".", O_RDONLY)) == 0, "fsync folder");
}

int main(int argc, char **argv) {
    need(argc == 2 && chdir(argv[1]) == 0, "usage: FOLDER");
    std::thread(log).join();
    std::thread(save).join();
    return 0;
}

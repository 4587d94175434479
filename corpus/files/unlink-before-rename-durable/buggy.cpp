// Move a database to a new MANIFEST and delete the old one.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <unistd.h>

static void Check(bool ok, const char* what) {
    if (!ok) {
        std::perror(what);
        std::exit(1);
    }
}

class Directory {
  public:
    explicit Directory(const char* path) : fd_(open(path, O_RDONLY | O_DIRECTORY)) {
        Check(fd_ >= 0 && fchdir(fd_) == 0, "open directory");
    }
    ~Directory() { close(fd_); }
    void Sync() { Check(fsync(fd_) == 0, "fsync directory"); }

    // Write at the end of a file, new or old, and make it durable.
    void Append(const char* name, const std::string& text) {
        int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
        Check(fd >= 0, "open");
        Check(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
        Check(fsync(fd) == 0, "fsync");
        close(fd);
    }

  private:
    int fd_;
};

int main(int, char** argv) {
    Directory database(argv[1]);
    database.Append("MANIFEST-2", "table-1 table-2\n");
    database.Append("CURRENT.tmp", "MANIFEST-2\n");
    database.Sync();

    Check(std::rename("CURRENT.tmp", "CURRENT") == 0, "rename");  // LOST
    Check(unlink("MANIFEST-1") == 0, "unlink");                   // SURVIVED
    database.Append("LOG", "moved to MANIFEST-2\n");
    database.Sync();
}

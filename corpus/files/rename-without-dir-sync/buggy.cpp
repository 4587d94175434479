// Install a new MANIFEST by pointing CURRENT at it, after RocksDB's SetCurrentFile.
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <unistd.h>

static void Check(bool ok, const char* what) {
    if (!ok) {
        std::perror(what);
        std::exit(1);
    }
}

// Write a new file and make it durable, name and all.
static void WriteFile(const std::string& name, const std::string& text, int dir) {
    int fd = open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    Check(fd >= 0, "open");
    Check(write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
    Check(fsync(fd) == 0, "fsync");
    close(fd);
    Check(fsync(dir) == 0, "fsync of the directory");
}

static void SetCurrentFile(int number, int dir, int dir_to_fsync) {
    WriteFile("CURRENT.tmp", "MANIFEST-" + std::to_string(number) + "\n", dir);
    Check(std::rename("CURRENT.tmp", "CURRENT") == 0, "rename");  // LOST
    if (dir_to_fsync >= 0) {
        Check(fsync(dir_to_fsync) == 0, "fsync of the directory");
    }
}

int main(int, char** argv) {
    Check(chdir(argv[1]) == 0, "chdir");
    int dir = open(".", O_RDONLY | O_DIRECTORY);
    Check(dir >= 0, "open directory");
    WriteFile("MANIFEST-2", "version 2\n", dir);
    SetCurrentFile(2, dir, -1);
    std::cout << "installed 2" << std::endl;  // ACKED
}

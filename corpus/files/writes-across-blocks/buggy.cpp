// Flush a memtable into a table file, entry by entry in the order of insertion, after RocksDB's FlushMemTable.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

constexpr off_t kBlock = 4096;

struct Entry {
    uint32_t hash = 0;  // of all that follows
    uint32_t key = 0;
    char value[2040] = {};
};

static void Check(bool ok, const char* what) {
    if (!ok) {
        std::perror(what);
        std::exit(1);
    }
}

static uint32_t Fnv1a(const void* data, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ static_cast<const uint8_t*>(data)[i]) * 16777619u;
    }
    return hash;
}

class TableBuilder {
  public:
    // The whole space is reserved first, durably, as RocksDB does.
    TableBuilder(const char* name, off_t size) : fd_(open(name, O_WRONLY | O_CREAT | O_EXCL, 0644)) {
        int dir = open(".", O_RDONLY | O_DIRECTORY);
        Check(fd_ >= 0 && posix_fallocate(fd_, 0, size) == 0 && fsync(fd_) == 0, "reserve");
        Check(dir >= 0 && fsync(dir) == 0, "fsync directory");
        close(dir);
    }

    void Add(uint32_t key, const std::string& value) {
        Entry entry;
        entry.key = key;
        std::strncpy(entry.value, value.c_str(), sizeof entry.value - 1);
        entry.hash = Fnv1a(&entry.key, sizeof entry - sizeof entry.hash);
        Check(pwrite(fd_, &entry, sizeof entry, offset_) == sizeof entry, "write entry");  // LOST SURVIVED
        offset_ += sizeof entry;
    }

    void Finish() { Check(fdatasync(fd_) == 0, "fdatasync"); }

  private:
    int fd_;
    off_t offset_ = 0;
};

int main(int, char** argv) {
    Check(chdir(argv[1]) == 0, "chdir");
    std::vector<std::string> memtable = {"one", "two", "three"};
    TableBuilder builder("000009.sst", 2 * kBlock);
    for (size_t i = 0; i < memtable.size(); i++) {
        builder.Add(static_cast<uint32_t>(i + 1), memtable[i]);
    }
    builder.Finish();
}

// One mistake in a program of four threads: the journal is synced, the slots that it vouches for are not.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

class Store {
  public:
    Store() : slots_(open("slots", O_RDWR)), journal_(open("journal", O_WRONLY | O_APPEND)) {
        Check(slots_ >= 0 && journal_ >= 0);
    }

    // Fill one slot, then note in the journal that it is filled.
    void Put(int number, const std::string& text) {
        char slot[4096] = {};
        std::memcpy(slot, text.data(), text.size());
        Check(pwrite(slots_, slot, sizeof slot, number * sizeof slot) == sizeof slot);  // LOST
        Note(std::to_string(number) + "\n");
    }

  private:
    static void Check(bool ok) {
        if (!ok) {
            std::perror("store");
            std::exit(1);
        }
    }

    void Note(const std::string& line) {
        std::lock_guard<std::mutex> lock(mutex_);
        Check(write(journal_, line.data(), line.size()) == static_cast<ssize_t>(line.size()));  // SURVIVED
        Check(fdatasync(journal_) == 0);
    }

    int slots_;
    int journal_;
    std::mutex mutex_;
};

int main(int, char** argv) {
    if (chdir(argv[1]) != 0) {
        return 2;
    }
    Store store;
    std::vector<std::thread> threads;
    for (int number = 0; number < 4; number++) {
        threads.emplace_back([&store, number] { store.Put(number, "slot " + std::to_string(number)); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

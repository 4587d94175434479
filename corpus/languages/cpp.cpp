#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

static bool fixed_;

static void sync_path(const std::string &path) {
    int fd = open(path.c_str(), O_RDONLY);
    fsync(fd);
    close(fd);
}

static void config() {
    std::ofstream file("config.new");
    file << "theme = dark\n" << std::flush; // LOST config
    if (fixed_)
        sync_path("config.new");
    std::filesystem::rename("config.new", "config"); // SURVIVED config
}

static void entry() {
    std::ofstream("entry.new") << "entry 1\n";
    sync_path("entry.new");
    std::filesystem::rename("entry.new", "entry"); // LOST entry
    if (fixed_)
        sync_path(".");
    std::cout << "entry" << std::endl; // ACKED entry
}

static void table() {
    const std::string name = fixed_ ? "table.new" : "table";
    std::ofstream file(name); // SURVIVED table
    file << "new new new\n" << std::flush; // LOST table
    sync_path(name);
    if (fixed_)
        std::filesystem::rename(name, "table");
}

static void journal() {
    std::ofstream file("journal", std::ios::app);
    file << "paid 10" << std::endl; // LOST journal
    if (fixed_)
        sync_path("journal");
    std::cout << "paid" << std::endl; // ACKED journal
    sync_path("journal");
}

static void order() {
    std::fstream blob("blob"), index("index");
    blob << "blob blob\n" << std::flush; // LOST order
    if (fixed_)
        sync_path("blob");
    index << "blob at 0\n" << std::flush; // SURVIVED order
    sync_path("index");
    sync_path("blob");
}

int main(int count, char **words) {
    fixed_ = count > 1 && std::strcmp(words[1], "fixed") == 0;
    for (const auto &mistake : {config, entry, table, journal, order}) {
        mistake();
        sync_path(".");
    }
}

#include "store.hpp"

namespace {
int failures = 0;
void complain(const char *why) {
    failures++;
    std::fprintf(stderr, "%s\n", why);
}
struct Scope {
    const char *name;
    explicit Scope(const char *given) : name(given) { std::puts(name); }
    ~Scope() { std::puts(name); }
};
} // namespace

std::uint64_t total(const codec::Bytes &bytes); // of the other file

static void fill(store::Store<int, store::Record> &records, int count) {
    Scope scope("fill");
    for (int i = 0; i < count; i++)
        if (!records.add(i % 7, {std::to_string(i), static_cast<std::uint64_t>(count - i)}))
            complain("twice");
}

int main(int count, char **) {
    store::Store<int, store::Record> records;
    fill(records, 3 * count);
    std::unique_ptr<store::Sink> sink = std::make_unique<store::File>(::dup(1));
    try {
        Scope scope("save");
        store::save(records, *sink);
        auto bytes = store::encoded({"all", 1});
        std::printf("%llu %llu\n", (unsigned long long)total(bytes), (unsigned long long)total({}));
    } catch (const std::invalid_argument &error) {
        complain(error.what());
    } catch (const std::exception &error) {
        complain(error.what());
        return 2;
    }
    return failures ? 1 : 0;
}

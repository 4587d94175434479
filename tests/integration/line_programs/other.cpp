#include "store.hpp"

std::uint64_t total(const codec::Bytes &bytes) {
    codec::Reader reader(bytes);
    store::Store<int, store::Record> again; // the same code a second time, of which the linker keeps one
    again.add(1, {reader.text(), reader.number<std::uint64_t>()});
    std::uint64_t all = 0;
    for (const auto &record : again.sorted())
        all += record.value;
    return all + store::encoded({"x", all}).size();
}

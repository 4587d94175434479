// A store of records, all of it in this header.
#pragma once
#include "codec.hpp"
#include <algorithm>
#include <map>
#include <memory>
#include <unistd.h>

namespace store {

struct Record {
    std::string name;
    std::uint64_t value;
};

struct Sink {
    virtual ~Sink() = default;
    virtual void take(const codec::Bytes &bytes) = 0;
};

class File final : public Sink {
  public:
    explicit File(int fd) : fd_(fd) {}
    ~File() override { ::fsync(fd_); ::close(fd_); }
    void take(const codec::Bytes &bytes) override {
        if (::write(fd_, bytes.data(), bytes.size()) < 0)
            throw std::runtime_error("cannot write");
    }

  private:
    int fd_;
};

template <typename Key, typename Value> class Store {
  public:
    bool add(const Key &key, Value value) { return records_.emplace(key, std::move(value)).second; }
    template <typename Each> void each(Each visit) const {
        for (const auto &[key, value] : records_)
            visit(key, value);
    }
    std::vector<Value> sorted() const {
        std::vector<Value> all;
        each([&all](const Key &, const Value &value) { all.push_back(value); });
        std::sort(all.begin(), all.end(), [](const Value &a, const Value &b) { return a.value < b.value; });
        return all;
    }

  private:
    std::map<Key, Value> records_;
};

inline codec::Bytes encoded(const Record &record) {
    codec::Bytes bytes;
    codec::put_all(bytes, record.name, record.value);
    return bytes;
}

inline void save(const Store<int, Record> &records, Sink &sink) {
    for (const Record &record : records.sorted())
        sink.take(encoded(record));
}

} // namespace store

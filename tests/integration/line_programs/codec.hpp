// How records become bytes: templates that exist only where they are used.
#pragma once
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace codec {

using Bytes = std::vector<unsigned char>;

template <typename Number> inline void put(Bytes &bytes, Number number) {
    for (unsigned i = 0; i < sizeof number; i++)
        bytes.push_back(static_cast<unsigned char>(number >> (8 * i)));
}

inline void put(Bytes &bytes, const std::string &text) {
    put<std::uint32_t>(bytes, static_cast<std::uint32_t>(text.size()));
    bytes.insert(bytes.end(), text.begin(), text.end());
}

template <typename First, typename... Rest> void put_all(Bytes &bytes, const First &first, const Rest &...rest) {
    put(bytes, first);
    if constexpr (sizeof...(rest) > 0)
        put_all(bytes, rest...);
}

class Reader {
  public:
    explicit Reader(const Bytes &bytes) : bytes_(bytes) {
        if (bytes.empty())
            throw std::invalid_argument("nothing to read");
    }
    template <typename Number> Number number() {
        Number value = 0;
        for (unsigned i = 0; i < sizeof value; i++)
            value |= static_cast<Number>(next()) << (8 * i);
        return value;
    }
    std::string text() {
        std::string out;
        for (auto left = number<std::uint32_t>(); left > 0; left--)
            out += static_cast<char>(next());
        return out;
    }

  private:
    unsigned char next() { return bytes_.at(at_++); }
    const Bytes &bytes_;
    std::size_t at_ = 0;
};

} // namespace codec

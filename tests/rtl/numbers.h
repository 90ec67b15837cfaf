// Numbers of any width, random ones, and checks. Compiled once for all tests: nothing here depends on an engine.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <verilated.h>

inline uint64_t cycle = 0;

// Ends the test if a condition does not hold.
#define CHECK(condition, ...)                                                         \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::printf("%s:%d: cycle %llu: %s is false. ", __FILE__, __LINE__,       \
                        static_cast<unsigned long long>(cycle), #condition);          \
            std::printf("" __VA_ARGS__);                                              \
            std::printf("\n");                                                        \
            std::fflush(stdout);                                                      \
            std::_Exit(1);                                                            \
        }                                                                             \
    } while (false)

// The least number of bits that hold 0 to n - 1, as $clog2.
constexpr int clog2(uint64_t n) {
    int bits = 0;
    while ((uint64_t{1} << bits) < n) bits++;
    return bits;
}

// The least k with 4^k >= n.
constexpr int log4(uint64_t n) { return (clog2(n) + 1) / 2; }

// SplitMix64.
class Random {
public:
    explicit Random(uint64_t seed) : state(seed) {}
    uint64_t next() {
        state += 0x9e3779b97f4a7c15;
        uint64_t z = state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    uint64_t below(uint64_t n) { return next() % n; }
    bool one_in(uint64_t n) { return below(n) == 0; }
    // True in about `percent` of 100 calls.
    bool chance(unsigned percent) { return below(100) < percent; }

private:
    uint64_t state;
};
inline Random rnd(1);

// An unsigned number of up to 2560 bits. Its width is its user's business.
struct Bits {
    std::array<uint32_t, 80> words{};

    Bits() = default;
    Bits(uint64_t value) : Bits() {
        words[0] = static_cast<uint32_t>(value);
        words[1] = static_cast<uint32_t>(value >> 32);
    }
    static Bits random(int width) {
        Bits bits;
        for (int i = 0; i < (width + 31) / 32; i++) bits.words[i] = static_cast<uint32_t>(rnd.next());
        return bits.slice(0, width);
    }
    // A string of bytes, the first in the highest bits.
    static Bits of_bytes(const std::vector<uint8_t>& bytes) {
        Bits bits;
        for (size_t i = 0; i < bytes.size(); i++) bits.set_byte(static_cast<int>(bytes.size() - 1 - i), bytes[i]);
        return bits;
    }
    std::vector<uint8_t> to_bytes(int count) const {
        std::vector<uint8_t> bytes;
        for (int i = count - 1; i >= 0; i--) bytes.push_back(byte(i));
        return bytes;
    }
    bool bit(int i) const { return words[i / 32] >> (i % 32) & 1; }
    void set_bit(int i, bool value) {
        words[i / 32] = (words[i / 32] & ~(1u << (i % 32))) | (static_cast<uint32_t>(value) << (i % 32));
    }
    // Byte 0 is the lowest.
    uint8_t byte(int i) const { return static_cast<uint8_t>(words[i / 4] >> (i % 4 * 8)); }
    void set_byte(int i, uint8_t value) {
        words[i / 4] = (words[i / 4] & ~(0xffu << (i % 4 * 8))) | (static_cast<uint32_t>(value) << (i % 4 * 8));
    }
    Bits slice(int low, int width) const {
        Bits bits;
        for (int i = 0; i < (width + 31) / 32; i++) {
            size_t from = static_cast<size_t>(low / 32 + i);
            uint64_t pair = (from < words.size() ? words[from] : 0) |
                            static_cast<uint64_t>(from + 1 < words.size() ? words[from + 1] : 0) << 32;
            bits.words[i] = static_cast<uint32_t>(pair >> (low % 32));
        }
        if (width % 32) bits.words[width / 32] &= (1u << (width % 32)) - 1;
        return bits;
    }
    // This number with the `width` bits from `low` on replaced; `value` has no higher bits.
    Bits& place(int low, int width, const Bits& value) {
        for (int i = 0; i < width; i++) set_bit(low + i, value.bit(i));
        return *this;
    }
    uint64_t value() const { return words[0] | static_cast<uint64_t>(words[1]) << 32; }
    bool operator==(const Bits& other) const { return words == other.words; }
    bool operator!=(const Bits& other) const { return words != other.words; }
    bool operator<(const Bits& other) const {
        for (size_t i = words.size(); i-- > 0;)
            if (words[i] != other.words[i]) return words[i] < other.words[i];
        return false;
    }
    Bits operator^(const Bits& other) const {
        Bits bits;
        for (size_t i = 0; i < words.size(); i++) bits.words[i] = words[i] ^ other.words[i];
        return bits;
    }
    std::string hex() const {
        std::string text;
        char word[9];
        for (size_t i = words.size(); i-- > 0;) {
            if (text.empty() && !words[i] && i) continue;
            std::snprintf(word, sizeof word, text.empty() ? "%x" : "%08x", words[i]);
            text += word;
        }
        return text;
    }
};

// Ports of any width as numbers, and the other way round.
template <typename T> Bits get(const T& port) { return Bits(static_cast<uint64_t>(port)); }
template <std::size_t N> Bits get(const VlWide<N>& port) {
    Bits bits;
    for (std::size_t i = 0; i < N; i++) bits.words[i] = port.at(i);
    return bits;
}
template <typename T> void put(T& port, const Bits& value) { port = static_cast<T>(value.value()); }
template <std::size_t N> void put(VlWide<N>& port, const Bits& value) {
    for (std::size_t i = 0; i < N; i++) port.at(i) = value.words[i];
}

// config: KEY_BITS=32 DATA_BITS=9 LEVELS=6
// config: KEY_BITS=9 DATA_BITS=12 LEVELS=3
// config: KEY_BITS=128 DATA_BITS=40 LEVELS=7
#include "lookup.h"

struct Prefix {
    Bits value;  // Without the bits behind the prefix.
    int length;
    Bits data;
};

bool covers(const Prefix& prefix, const Bits& key) {
    int rest = KEY_BITS - prefix.length;
    return key.slice(rest, prefix.length) == prefix.value.slice(rest, prefix.length);
}

const Prefix* longest(const std::vector<Prefix>& prefixes, const Bits& key) {
    const Prefix* best = nullptr;
    for (auto& prefix : prefixes)
        if (covers(prefix, key) && (!best || prefix.length > best->length)) best = &prefix;
    return best;
}

struct Interval {
    Bits first;
    const Prefix* best;
};

// The driver's side: the keys are cut where a prefix begins, and behind its end. Neighbours that give the same are one.
std::vector<Interval> intervals(const std::vector<Prefix>& prefixes) {
    std::map<Bits, bool> cuts{{Bits(), true}};
    for (auto& prefix : prefixes) {
        cuts[prefix.value] = true;
        // Behind the end: the first key plus 2^(bits behind the prefix), unless that is behind all keys.
        Bits behind = prefix.value;
        int bit = KEY_BITS - prefix.length;
        while (bit < KEY_BITS && behind.bit(bit)) behind.set_bit(bit++, false);
        if (bit < KEY_BITS) {
            behind.set_bit(bit, true);
            cuts[behind] = true;
        }
    }
    std::vector<Interval> result;
    for (auto& [first, unused] : cuts) {
        auto best = longest(prefixes, first);
        if (result.empty() || result.back().best != best) result.push_back({first, best});
    }
    return result;
}

int main(int argc, char** argv) {
    start(argc, argv);
    Lookups lookups(LEVELS * (KEY_BITS <= 32 ? 3 : 4) + 2);
    const unsigned size = 1 << LEVELS;
    std::vector<Prefix> prefixes;
    Bits all_ones;
    for (int i = 0; i < KEY_BITS; i++) all_ones.set_bit(i, true);

    auto look = [&](bool writing) {
        if (!writing) dut->wr_en = 0;
        Bits key = Bits::random(KEY_BITS);
        if (!prefixes.empty() && !rnd.one_in(4)) {
            auto& prefix = prefixes[rnd.below(prefixes.size())];
            int rest = KEY_BITS - prefix.length;
            key = prefix.value;
            key.place(0, rest, Bits::random(rest));
            // The ends, and their neighbours.
            if (rnd.one_in(3)) key = prefix.value;
            if (rnd.one_in(3)) key.place(0, rest, all_ones.slice(0, rest));
        }
        if (rnd.one_in(50)) key = all_ones;
        auto best = longest(prefixes, key);
        lookups.step(rnd.chance(90), key, best ? &best->data : nullptr);
    };
    auto write = [&](uint64_t address, const Bits& data) {
        dut->wr_en = 1;
        dut->wr_addr = address;
        put(dut->wr_data, data);
    };
    for (int round = 0; round < 40; round++) {
        // New prefixes, some within others, as many as fit.
        std::vector<Prefix> next;
        std::vector<Interval> cut;
        for (int tries = 0; tries < 60; tries++) {
            Prefix prefix{Bits::random(KEY_BITS), static_cast<int>(rnd.below(KEY_BITS + 1)), Bits::random(DATA_BITS)};
            if (!next.empty() && rnd.one_in(2)) {
                auto& outer = next[rnd.below(next.size())];
                int rest = KEY_BITS - outer.length;
                prefix.length = outer.length + static_cast<int>(rnd.below(rest + 1));
                prefix.value.place(rest, outer.length, outer.value.slice(rest, outer.length));
            }
            int rest = KEY_BITS - prefix.length;
            prefix.value.place(0, rest, Bits());
            bool again = false;
            for (auto& other : next) again |= other.length == prefix.length && other.value == prefix.value;
            if (again) continue;
            auto with = next;
            with.push_back(prefix);
            if (intervals(with).size() > size) continue;
            next = with;
        }
        cut = intervals(next);
        unsigned bank = round % 2 ^ 1;
        while (dut->switching) look(false);
        // Nodes: the k-th in order holds the first key of interval k.
        for (unsigned node = 1; node < size; node++) {
            int level = clog2(node + 1) - 1;
            unsigned order = (2 * (node - (1u << level)) + 1) << (LEVELS - 1 - level);
            write(uint64_t{bank} << LEVELS | node, order < cut.size() ? cut[order].first : all_ones);
            look(true);
        }
        for (unsigned number = 0; number < size; number++) {
            auto& interval = cut[std::min<size_t>(number, cut.size() - 1)];
            Bits data = interval.best ? interval.best->data : Bits::random(DATA_BITS);
            data.set_bit(DATA_BITS, interval.best != nullptr);
            write((uint64_t{2} | bank) << LEVELS | number, data);
            look(true);
            if (rnd.one_in(3)) look(false);
        }
        // From the next cycle on the new ones are in use.
        write(uint64_t{4} << LEVELS, bank);
        look(true);
        prefixes = next;
        for (int i = 0; i < 300; i++) look(false);
    }
    return done();
}

// config: KEY_BITS=13 DATA_BITS=9 BUCKETS=64 SLOTS=1
// config: KEY_BITS=48 DATA_BITS=33 BUCKETS=32 SLOTS=2
// config: KEY_BITS=148 DATA_BITS=20 BUCKETS=64 SLOTS=4
// config: KEY_BITS=29 DATA_BITS=17 BUCKETS=32 SLOTS=1 PASSES=2 GAP=2
// config: KEY_BITS=12 DATA_BITS=9 BUCKETS=8 SLOTS=2 PASSES=4 GAP=5
// config: KEY_BITS=145 DATA_BITS=70 BUCKETS=32 SLOTS=2 PASSES=4 GAP=12
// config: KEY_BITS=64 DATA_BITS=31 BUCKETS=32 SLOTS=2 PASSES=2 GAP=3
// config: KEY_BITS=40 DATA_BITS=20 BUCKETS=16 SLOTS=4 PASSES=4 GAP=4
// config: KEY_BITS=48 DATA_BITS=20 BUCKETS=64 SLOTS=4 PASSES=8 GAP=12
// config: KEY_BITS=16 DATA_BITS=43 BUCKETS=8 SLOTS=4 PASSES=8 PARTS=6 GAP=12
// config: KEY_BITS=40 DATA_BITS=20 BUCKETS=16 SLOTS=4 PASSES=2 PARTS=3 GAP=3
// config: KEY_BITS=40 DATA_BITS=20 BUCKETS=16 SLOTS=2 PARTS=4 GAP=4
#include "lookup.h"

#ifndef PASSES
#define PASSES 1
#endif
#ifndef PARTS
#define PARTS 1
#endif
#ifndef GAP
#define GAP 1
#endif

// The cycles by which passes and parts make a lookup longer, and those for which a write stays.
constexpr int LONGER = (PASSES == 1 ? 0 : PASSES) + (GAP == 1 ? 0 : PARTS);
constexpr int LATENCY = 8 + LONGER, HOLD = LATENCY - 4;

uint32_t crc(uint32_t polynomial, const Bits& key) {
    uint32_t crc = 0;
    for (uint8_t byte : key.to_bytes((KEY_BITS + 7) / 8)) {
        crc ^= byte;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}

// The driver's side: a copy of the table, and cuckoo insertion.
class Driver {
public:
    struct Place {
        int function, slot;
        unsigned bucket;
    };
    struct Entry {
        bool valid = false;
        Bits key, data;
    };
    struct Write {
        Place place;
        Entry entry;
    };

    unsigned bucket(int function, const Bits& key) const {
        return crc(function ? 0x82f63b78 : 0xedb88320, key) % BUCKETS;
    }
    Entry& at(const Place& place) { return entries[place.function][place.slot][place.bucket]; }

    const Entry* find(const Bits& key, Place* place = nullptr) {
        for (int function : {0, 1})
            for (int slot = 0; slot < SLOTS; slot++) {
                Place here{function, slot, bucket(function, key)};
                if (at(here).valid && at(here).key == key) {
                    if (place) *place = here;
                    return &at(here);
                }
            }
        return nullptr;
    }

    // The writes, in order, that add an entry; none if there is no room. They are a way through the table found by
    // breadth-first search: its last entry moves to a free place, then the one before to that one's, and so on. A move
    // writes the copy first.
    std::vector<Write> insert(const Bits& key, const Bits& data) {
        struct Step {
            Place place;
            int from;
        };
        std::vector<Step> steps;
        std::vector<bool> seen(2 * SLOTS * BUCKETS);
        auto add = [&](int function, unsigned bucket, int from) {
            for (int slot = 0; slot < SLOTS; slot++) {
                size_t number = (function * SLOTS + slot) * BUCKETS + bucket;
                if (!seen[number]) steps.push_back({{function, slot, bucket}, from});
                seen[number] = true;
            }
        };
        add(0, bucket(0, key), -1);
        add(1, bucket(1, key), -1);
        for (size_t next = 0; next < steps.size(); next++) {
            Place place = steps[next].place;
            if (at(place).valid) {
                int other = 1 - place.function;
                add(other, bucket(other, at(place).key), static_cast<int>(next));
                continue;
            }
            std::vector<Write> writes;
            int step = static_cast<int>(next);
            for (; steps[step].from >= 0; step = steps[step].from) {
                Entry moved = at(steps[steps[step].from].place);
                writes.push_back({steps[step].place, moved});
                writes.push_back({steps[steps[step].from].place, {}});
            }
            writes.push_back({steps[step].place, {true, key, data}});
            return writes;
        }
        return {};
    }

private:
    Entry entries[2][SLOTS][BUCKETS];
};

int main(int argc, char** argv) {
    start(argc, argv);
    Lookups lookups(LATENCY);
    Driver driver;
    std::map<Bits, Bits> table;
    std::vector<Bits> keys;
    size_t most = 0;

    // Cycles since a lookup.
    int since = GAP;
    auto step = [&](bool lookup, const Bits& key, const Bits* data) {
        lookups.step(lookup, key, data);
        since = lookup ? 1 : since + 1;
    };
    // Lookups of what is there, and of what is not, while writes go on.
    auto look = [&](bool writing) {
        if (!writing) dut->wr_en = 0;
        Bits key = Bits::random(KEY_BITS);
        if (!keys.empty() && !rnd.one_in(4)) key = keys[rnd.below(keys.size())];
        auto entry = table.find(key);
        step(since >= GAP && rnd.chance(90), key, entry == table.end() ? nullptr : &entry->second);
    };
    // What changes the table is seen by lookups that entered two cycles before: while they hash, nothing is read.
    auto pause = [&] {
        dut->wr_en = 0;
        for (int i = 0; i < 2; i++) step(false, Bits(), nullptr);
    };
    // A write, and lookups while it takes its cycles. Behind them address and data may be anything.
    auto write = [&](const Driver::Write& write) {
        driver.at(write.place) = write.entry;
        dut->wr_en = 1;
        dut->wr_addr = (write.place.function * SLOTS + write.place.slot) * BUCKETS + write.place.bucket;
        Bits word = write.entry.data;
        word.place(DATA_BITS, KEY_BITS, write.entry.key);
        word.set_bit(DATA_BITS + KEY_BITS, write.entry.valid);
        put(dut->wr_data, word);
        look(true);
        for (int i = 0; i < HOLD; i++) look(false);
        dut->wr_addr = rnd.below(2 * SLOTS * BUCKETS);
        put(dut->wr_data, Bits::random(1 + KEY_BITS + DATA_BITS));
    };
    for (int i = 0; i < 4000; i++) {
        uint64_t what = rnd.below(i < 2000 ? 4 : 2);
        if (what >= 1) {
            Bits key = Bits::random(KEY_BITS), data = Bits::random(DATA_BITS);
            if (table.count(key)) continue;
            auto writes = driver.insert(key, data);
            for (size_t at = 0; at < writes.size(); at++) {
                if (at + 1 == writes.size()) {
                    pause();
                    table[key] = data;
                    keys.push_back(key);
                }
                write(writes[at]);
                if (rnd.one_in(2)) look(false);
            }
        } else if (!keys.empty()) {
            size_t number = rnd.below(keys.size());
            Bits key = keys[number];
            Driver::Place place;
            CHECK(driver.find(key, &place));
            // The last lookup that sees the entry as it was.
            dut->wr_en = 0;
            while (since < GAP) step(false, Bits(), nullptr);
            step(true, key, &table[key]);
            pause();
            if (rnd.one_in(2)) {
                table[key] = Bits::random(DATA_BITS);
                write({place, {true, key, table[key]}});
            } else {
                table.erase(key);
                keys[number] = keys.back();
                keys.pop_back();
                write({place, {}});
            }
        }
        most = std::max(most, table.size());
        look(false);
    }
    // What the README promises.
    size_t promised = 2 * SLOTS * BUCKETS * (SLOTS == 1 ? 45 : SLOTS == 2 ? 85 : 94) / 100;
    CHECK(most >= promised, "%zu entries of %d", most, 2 * SLOTS * BUCKETS);
    return done();
}

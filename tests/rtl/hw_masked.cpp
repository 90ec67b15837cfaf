// config: KEY_BITS=13 ORDER_BITS=10 DATA_BITS=9 LANES=2 PASSES=4 BUCKETS=8 SLOTS=2
// config: KEY_BITS=104 ORDER_BITS=54 DATA_BITS=20 LANES=8 PASSES=16 BUCKETS=16 SLOTS=4
// config: KEY_BITS=40 ORDER_BITS=20 DATA_BITS=1 LANES=4 PASSES=64 BUCKETS=32 SLOTS=1
#include "bench.h"

constexpr int LANE_BITS = clog2(LANES), PASS_BITS = clog2(PASSES);
constexpr int LOW_BITS = std::max(1 + clog2(SLOTS) + clog2(BUCKETS), PASS_BITS);
constexpr int LATENCY = 13 + 2 * LANE_BITS + PASSES;
constexpr int TAGGED_BITS = PASS_BITS + KEY_BITS, STORED_BITS = ORDER_BITS + DATA_BITS;

uint32_t crc(uint32_t polynomial, const Bits& key) {
    uint32_t crc = 0;
    for (uint8_t byte : key.to_bytes((TAGGED_BITS + 7) / 8)) {
        crc ^= byte;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return crc;
}

Bits under(const Bits& key, const Bits& mask) {
    Bits bits;
    for (int i = 0; i < KEY_BITS; i++) bits.set_bit(i, key.bit(i) && mask.bit(i));
    return bits;
}

struct Entry {
    bool valid = false;
    int pass = 0;
    Bits value, order, data;
};

// The table: masks and entries of each lane by their places.
struct Table {
    Bits masks[LANES][PASSES];
    Entry entries[LANES][2 * SLOTS * BUCKETS];

    // What a key finds; null on a miss.
    const Bits* find(const Bits& key) const {
        const Entry* best = nullptr;
        for (int l = 0; l < LANES; l++)
            for (const Entry& entry : entries[l]) {
                if (!entry.valid || entry.value != under(key, masks[l][entry.pass])) continue;
                if (!best || best->order < entry.order) best = &entry;
            }
        return best ? &best->data : nullptr;
    }
};

// A lookup that is under way: what it may find, before and after a write.
struct Lookup {
    Bits key;
    std::vector<std::pair<bool, Bits>> results;
};

int main(int argc, char** argv) {
    start(argc, argv);
    static Table table;
    Expected<Lookup> expected(LATENCY);
    std::deque<Lookup*> waiting;
    int since = PASSES, hits = 0, changed = 0, changing_lane = 0;
    Entry changing;
    dut->in_valid = 0;
    dut->wr_en = 0;
    reset(dut);

    auto result = [&](const Bits& key) {
        const Bits* data = table.find(key);
        return std::pair<bool, Bits>(data != nullptr, data ? *data : Bits());
    };
    auto step = [&] {
        Bits key = Bits::random(KEY_BITS);
        // Mostly one that finds something: the entry that changes, or another one.
        int lane = static_cast<int>(rnd.below(LANES));
        const Entry* like = &table.entries[lane][rnd.below(2 * SLOTS * BUCKETS)];
        if (rnd.one_in(2)) like = &changing, lane = changing_lane;
        if (like->valid)
            for (int i = 0; i < KEY_BITS; i++)
                if (table.masks[lane][like->pass].bit(i)) key.set_bit(i, like->value.bit(i));
        bool enters = since >= PASSES && rnd.chance(80);
        since = enters ? 1 : since + 1;
        dut->in_valid = enters;
        put(dut->in_key, key);
        settle();
        std::unique_ptr<Lookup> lookup;
        if (enters) {
            lookup = std::make_unique<Lookup>(Lookup{key, {result(key)}});
            waiting.push_back(lookup.get());
        }
        auto leaving = expected.step(std::move(lookup));
        CHECK(bool(dut->out_valid) == bool(leaving));
        if (leaving) {
            waiting.pop_front();
            bool right = false;
            for (auto& [hit, data] : leaving->results)
                right |= bool(dut->out_hit) == hit && (!hit || get(dut->out_data) == data);
            CHECK(right, "%s finds %d %s", leaving->key.hex().c_str(), dut->out_hit, get(dut->out_data).hex().c_str());
            hits += leaving->results.back().first;
            changed += leaving->results.size() > 1 && leaving->results[0] != leaving->results[1];
        }
        bool found = dut->out_found;
        edge();
        settle();
        CHECK(bool(dut->out_hit) == found);
    };
    // A write of the table as it is now, and the cycles until there may be another one.
    auto write = [&](int kind, int lane, uint64_t low, const Bits& word) {
        for (Lookup* lookup : waiting) lookup->results.push_back(result(lookup->key));
        dut->wr_en = 1;
        dut->wr_addr = (static_cast<uint64_t>(kind) << LANE_BITS | lane) << LOW_BITS | low;
        put(dut->wr_data, word);
        step();
        dut->wr_en = 0;
        for (int i = 0; i < 4; i++) step();
        dut->wr_addr = 0;
        put(dut->wr_data, Bits::random(1 + TAGGED_BITS + STORED_BITS));
        for (int i = 4; i < LATENCY; i++) step();
    };
    auto write_entry = [&](int lane, uint64_t place, const Entry& entry) {
        changing = entry.valid ? entry : table.entries[lane][place];
        changing_lane = lane;
        for (int i = 0; i < LATENCY; i++) step();
        table.entries[lane][place] = entry;
        Bits word = entry.data;
        word.place(DATA_BITS, ORDER_BITS, entry.order);
        word.place(STORED_BITS, KEY_BITS, entry.value);
        word.place(STORED_BITS + KEY_BITS, PASS_BITS, Bits(entry.pass));
        word.set_bit(STORED_BITS + TAGGED_BITS, entry.valid);
        write(1, lane, place, word);
    };
    uint64_t orders = 0;
    for (int lane = 0; lane < LANES; lane++)
        for (int pass = 0; pass < PASSES; pass++) {
            Bits& mask = table.masks[lane][pass];
            mask = under(Bits::random(KEY_BITS), Bits::random(KEY_BITS));
            write(0, lane, pass, mask);
        }
    for (int round = 0; round < 600; round++) {
        int lane = static_cast<int>(rnd.below(LANES));
        uint64_t some = rnd.below(2 * SLOTS * BUCKETS);
        if (round > 200 && rnd.one_in(3)) {
            // One goes, or gets other data.
            Entry entry = table.entries[lane][some];
            if (!entry.valid) continue;
            if (rnd.one_in(2)) entry.data = Bits::random(DATA_BITS);
            else entry.valid = false;
            write_entry(lane, some, entry);
            continue;
        }
        Entry entry{true, static_cast<int>(rnd.below(PASSES)), {}, {}, Bits::random(DATA_BITS)};
        entry.value = under(Bits::random(KEY_BITS), table.masks[lane][entry.pass]);
        // Orders differ; those of later entries are greater or less.
        uint64_t order = orders++;
        entry.order = Bits(rnd.one_in(2) ? order : (uint64_t{1} << std::min(ORDER_BITS, 60)) - 1 - order);
        Bits tagged = entry.value;
        tagged.place(KEY_BITS, PASS_BITS, Bits(entry.pass));
        bool known = false;
        for (const Entry& other : table.entries[lane])
            known |= other.valid && other.pass == entry.pass && other.value == entry.value;
        int function = static_cast<int>(rnd.below(2)), slot = static_cast<int>(rnd.below(SLOTS));
        uint64_t bucket = crc(function ? 0x82f63b78 : 0xedb88320, tagged) % BUCKETS;
        uint64_t place = (function * SLOTS + slot) * BUCKETS + bucket;
        if (known || table.entries[lane][place].valid) continue;
        write_entry(lane, place, entry);
        if (rnd.one_in(4))
            for (int i = 0; i < 20; i++) step();
    }
    CHECK(hits > 300 && changed > 10, "%d hits, %d changes", hits, changed);
    return done();
}

// config: KEY_BITS=8 DATA_BITS=5 ENTRIES=1 CHUNK_BITS=4
// config: KEY_BITS=13 DATA_BITS=20 ENTRIES=10 CHUNK_BITS=5
// config: KEY_BITS=100 DATA_BITS=12 ENTRIES=40 CHUNK_BITS=4
#include "lookup.h"

constexpr int CHUNKS = (KEY_BITS + CHUNK_BITS - 1) / CHUNK_BITS;
constexpr int VALUES = 1 << CHUNK_BITS;
constexpr int LOW_BITS = std::max(clog2(CHUNKS) + CHUNK_BITS, clog2(ENTRIES));

struct Entry {
    Bits value, mask, data;
    bool matches(const Bits& key) const {
        for (int i = 0; i < KEY_BITS; i++)
            if (mask.bit(i) && key.bit(i) != value.bit(i)) return false;
        return true;
    }
};

int main(int argc, char** argv) {
    start(argc, argv);
    Lookups lookups(4 + log4(CHUNKS + 1) + log4(ENTRIES));
    std::vector<std::unique_ptr<Entry>> entries(ENTRIES);  // Those that are valid.
    std::vector<Bits> words(CHUNKS * VALUES);              // The driver's copy of what each value of a chunk accepts.
    Bits valid;

    auto look = [&](bool writing) {
        if (!writing) dut->wr_en = 0;
        Bits key = Bits::random(KEY_BITS);
        auto& like = entries[rnd.below(ENTRIES)];
        if (like && !rnd.one_in(4))
            for (int i = 0; i < KEY_BITS; i++)
                if (like->mask.bit(i)) key.set_bit(i, like->value.bit(i));
        const Bits* data = nullptr;
        for (int e = ENTRIES - 1; e >= 0; e--)
            if (entries[e] && entries[e]->matches(key)) data = &entries[e]->data;
        lookups.step(rnd.chance(90), key, data);
    };
    auto write = [&](uint64_t kind, uint64_t low, const Bits& data) {
        dut->wr_en = 1;
        dut->wr_addr = kind << LOW_BITS | low;
        put(dut->wr_data, data);
    };
    // A lookup sees the valid entries as they are one cycle after it has entered.
    auto set_valid = [&](int number, std::unique_ptr<Entry> entry) {
        valid.set_bit(number, entry != nullptr);
        entries[number] = std::move(entry);
        look(false);
        write(2, 0, valid);
        look(true);
    };
    auto fill = [&](int number, const Entry& entry) {
        for (int chunk = 0; chunk < CHUNKS; chunk++)
            for (int value = 0; value < VALUES; value++) {
                Bits place;
                place.place(chunk * CHUNK_BITS, CHUNK_BITS, value);
                bool accepts = true;
                for (int i = chunk * CHUNK_BITS; i < std::min((chunk + 1) * CHUNK_BITS, KEY_BITS); i++)
                    accepts &= !entry.mask.bit(i) || entry.value.bit(i) == place.bit(i);
                auto& word = words[chunk * VALUES + value];
                word.set_bit(number, accepts);
                write(0, chunk * VALUES + value, word);
                look(true);
            }
        write(1, number, entry.data);
        look(true);
    };
    for (int round = 0; round < 150; round++) {
        int number = static_cast<int>(rnd.below(ENTRIES));
        if (entries[number]) {
            // Out, or one down, if the place below is free.
            Entry entry = *entries[number];
            if (rnd.one_in(2) && number + 1 < ENTRIES && !entries[number + 1]) {
                fill(number + 1, entry);
                set_valid(number + 1, std::make_unique<Entry>(entry));
            }
            set_valid(number, nullptr);
            if (rnd.one_in(2)) continue;
        }
        Entry entry{Bits::random(KEY_BITS), Bits::random(KEY_BITS), Bits::random(DATA_BITS)};
        if (rnd.one_in(2))
            for (int i = 0; i < KEY_BITS; i++)
                if (!rnd.one_in(5)) entry.mask.set_bit(i, false);
        fill(number, entry);
        set_valid(number, std::make_unique<Entry>(entry));
        for (int i = 0; i < 20; i++) look(false);
    }
    return done();
}

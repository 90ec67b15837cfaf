// config: KEY_BITS=4 DATA_BITS=7
// config: KEY_BITS=9 DATA_BITS=40
#include "lookup.h"

int main(int argc, char** argv) {
    start(argc, argv);
    Lookups lookups(2);
    std::map<uint64_t, Bits> table;
    for (int i = 0; i < 20000; i++) {
        // A write, and a lookup that sees it.
        uint64_t range = i < 5000 ? uint64_t{1} << KEY_BITS : 4;
        dut->wr_en = rnd.one_in(3);
        dut->wr_addr = rnd.below(range);
        Bits data = Bits::random(DATA_BITS);
        bool valid = rnd.one_in(2);
        put(dut->wr_data, Bits(data).place(DATA_BITS, 1, valid));
        if (dut->wr_en) {
            table.erase(dut->wr_addr);
            if (valid) table[dut->wr_addr] = data;
        }
        Bits key = rnd.below(range);
        auto entry = table.find(key.value());
        lookups.step(rnd.chance(80), key, entry == table.end() ? nullptr : &entry->second);
    }
    return done();
}

// config: BUS_BYTES=8 META_BITS=16 WORDS=256 PACKETS=64 MAX_BYTES=64
// config: BUS_BYTES=8 META_BITS=9 WORDS=32 PACKETS=4 MAX_BYTES=64
// config: BUS_BYTES=16 META_BITS=40 WORDS=64 PACKETS=2 MAX_BYTES=300
#include "bench.h"

struct Packet {
    Bits meta;
    std::vector<Bits> words;
};

// Packets come back to back and with gaps, and leave word by word; those that are lost are lost as a whole.
int main(int argc, char** argv) {
    start(argc, argv);
    constexpr size_t longest = (MAX_BYTES + BUS_BYTES - 1) / BUS_BYTES;
    dut->put = dut->word_take = dut->allow = 0;
    reset(dut);
    Packet coming;
    size_t at = 0, out = 0, taken = 0, lost = 0, refused = 0;
    long words = 0;
    bool allowed = false;
    std::deque<Packet> waiting;
    for (int i = 0; i < 60000; i++) {
        bool slow = i / 2000 % 2 == 1;
        dut->allow = i / 500 % 5 != 4;
        if (coming.words.empty() && rnd.one_in(2)) {
            coming.meta = Bits::random(META_BITS);
            for (uint64_t k = 0; k <= rnd.below(longest); k++) coming.words.push_back(Bits::random(8 * BUS_BYTES));
            at = 0;
        }
        bool puts = !coming.words.empty() && !rnd.one_in(4);
        dut->put = puts;
        if (puts) {
            put(dut->put_data, coming.words[at]);
            dut->put_bytes = 1 + at % BUS_BYTES;
            put(dut->put_meta, coming.meta);
        }
        dut->put_last = puts && at + 1 == coming.words.size();
        dut->word_take = 0;
        settle();
        dut->word_take = dut->word_valid && dut->meta_valid && !rnd.one_in(slow ? 2 : 8) && !(slow && i % 2000 < 1000);
        settle();
        if (dut->word_take) {
            // Words of a packet may leave while others of it come.
            CHECK(!waiting.empty() || out < at);
            Packet& want = waiting.empty() ? coming : waiting.front();
            CHECK(get(dut->meta) == want.meta && get(dut->word_data) == want.words[out]);
            CHECK(dut->word_bytes == 1 + out % BUS_BYTES);
            CHECK(bool(dut->word_last) == (out + 1 == want.words.size()));
            words--;
            if (++out == want.words.size()) {
                waiting.pop_front();
                out = 0;
                taken++;
            }
        }
        if (puts && at == 0) allowed = dut->allow;
        if (puts && ++at == coming.words.size()) {
            if (dut->lost) {
                lost++;
                refused += !allowed;
            } else {
                waiting.push_back(coming);
                words += static_cast<long>(coming.words.size());
                CHECK(words <= WORDS && waiting.size() <= PACKETS);
            }
            coming.words.clear();
        }
        edge();
    }
    CHECK(taken > 1000 && lost > refused && refused > 0, "%zu taken, %zu lost, %zu of them not allowed", taken, lost, refused);
    return done();
}

// config: BUS_BYTES=8 META_BITS=5
// config: BUS_BYTES=32 META_BITS=9
// config: BUS_BYTES=64 META_BITS=40
#include "bench.h"

struct Word {
    Bits data, meta;
    unsigned bytes;
    bool last, bad;
    uint64_t even, odd;
};

// Words leave as they came, with the sums of their packet so far, whatever the other side does.
int main(int argc, char** argv) {
    start(argc, argv);
    dut->in_valid = dut->out_ready = 0;
    reset(dut);
    std::deque<Word> expected;
    Word word{};
    bool offered = false;
    uint64_t even = 0, odd = 0, place = 0, packets = 0, idle = 0;
    for (int i = 0; i < 40000; i++) {
        bool slow = i / 1000 % 2 == 1;
        if (!offered && !rnd.one_in(slow ? 2 : 8)) {
            word.data = Bits::random(8 * BUS_BYTES);
            word.meta = Bits::random(META_BITS);
            word.last = rnd.one_in(4);
            word.bad = rnd.one_in(9);
            word.bytes = word.last ? 1 + static_cast<unsigned>(rnd.below(BUS_BYTES)) : BUS_BYTES;
            for (unsigned k = 0; k < word.bytes; k++, place++) (place % 2 ? odd : even) += word.data.byte(static_cast<int>(k));
            word.even = even;
            word.odd = odd;
            if (word.last) even = odd = place = 0;
            offered = true;
        }
        dut->in_valid = offered;
        put(dut->in_data, word.data);
        put(dut->in_meta, word.meta);
        dut->in_bytes = word.bytes;
        dut->in_last = word.last;
        dut->in_bad = word.bad;
        dut->out_ready = !rnd.one_in(slow ? 2 : 16);
        settle();
        if (dut->in_valid && dut->in_ready) {
            expected.push_back(word);
            offered = false;
        }
        idle = dut->out_valid || expected.empty() ? 0 : idle + 1;
        CHECK(idle < 20, "nothing leaves");
        if (dut->out_valid && dut->out_ready) {
            CHECK(!expected.empty(), "a word from nowhere");
            const Word& want = expected.front();
            CHECK(get(dut->out_data) == want.data && get(dut->out_meta) == want.meta);
            CHECK(dut->out_bytes == want.bytes && bool(dut->out_last) == want.last && bool(dut->out_bad) == want.bad);
            if (want.last) {
                CHECK(uint64_t(dut->out_sums) == (want.even << 24 | want.odd));
                packets++;
            }
            expected.pop_front();
        }
        edge();
    }
    CHECK(packets > 2000, "%lu packets", packets);
    return done();
}

// config: DEPTH=20 PACKET_BITS=7 BYTE_BITS=11 LENGTH_BITS=9 GAP=1
// config: DEPTH=64 PACKET_BITS=32 BYTE_BITS=40 LENGTH_BITS=14 GAP=1
// config: DEPTH=20 PACKET_BITS=9 BYTE_BITS=0 LENGTH_BITS=9 GAP=1
// config: DEPTH=64 PACKET_BITS=0 BYTE_BITS=40 LENGTH_BITS=14 GAP=1
// config: DEPTH=20 PACKET_BITS=7 BYTE_BITS=11 LENGTH_BITS=9 GAP=6
// config: DEPTH=64 PACKET_BITS=32 BYTE_BITS=0 LENGTH_BITS=14 GAP=12
#include "control.h"

constexpr uint64_t mask(int bits) { return (uint64_t{1} << bits) - 1; }

int main(int argc, char** argv) {
    start(argc, argv);
    dut->in_valid = 0;
    dut->ctl_valid = 0;
    reset(dut);
    struct Count {
        uint64_t packets = 0, bytes = 0;
    };
    std::vector<Count> counts(1 << clog2(DEPTH));
    Control control;
    Count asked;
    bool updated = false;  // In the cycle before.
    int since = GAP;       // Cycles since an update.
    for (int i = 0; i < 40000; i++) {
        uint64_t range = i / 1000 % 2 ? counts.size() : 3;
        bool valid = since >= GAP && rnd.chance(i / 2000 % 2 ? 95 : 50);
        since = valid ? 1 : since + 1;
        dut->in_valid = valid;
        dut->in_index = rnd.below(range);
        dut->in_length = rnd.below(1 << LENGTH_BITS);
        control.drive(rnd.one_in(4), rnd.one_in(2), rnd.below(std::min<uint64_t>(range, DEPTH)),
                      Bits::random(PACKET_BITS + BYTE_BITS));
        settle();
        if (control.done())
            CHECK(get(dut->ctl_rdata) == Bits(asked.bytes).place(BYTE_BITS, PACKET_BITS, asked.packets));
        if (control.accepted()) {
            // Its place among the updates is in front of that of the cycle in which it is taken, and there was none in the cycle before.
            CHECK(!updated);
            asked = counts[control.number];
            if (control.is_write)
                counts[control.number] = {control.value.slice(BYTE_BITS, PACKET_BITS).value(),
                                          control.value.slice(0, BYTE_BITS).value()};
        }
        if (valid && dut->in_index < DEPTH) {
            auto& count = counts[dut->in_index];
            count.packets = (count.packets + 1) & mask(PACKET_BITS);
            count.bytes = (count.bytes + dut->in_length) & mask(BYTE_BITS);
        }
        updated = valid;
        edge();
    }
    CHECK(control.count > 1000);
    return done();
}

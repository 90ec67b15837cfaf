// config: WINDOW_BYTES=16 BYTES=16
// config: WINDOW_BYTES=19 BYTES=6
// config: WINDOW_BYTES=64 BYTES=16
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    const int offsets = WINDOW_BYTES - BYTES + 1;
    Expected<std::vector<uint8_t>> expected(log4(offsets) + 1);
    for (int i = 0; i < 5000; i++) {
        auto window = Bits::random(8 * WINDOW_BYTES);
        auto data = Bits::random(8 * BYTES);
        auto bytes = window.to_bytes(WINDOW_BYTES);
        uint64_t offset = offsets > 1 ? rnd.below(uint64_t{1} << clog2(offsets)) : 0;
        dut->in_en = !rnd.one_in(4);
        if (dut->in_en)
            for (uint64_t at = 0; at < BYTES && offset + at < WINDOW_BYTES; at++)
                bytes[offset + at] = data.to_bytes(BYTES)[at];
        put(dut->in_window, window);
        put(dut->in_data, data);
        dut->in_offset = offset;
        settle();
        auto out = expected.step(std::make_unique<std::vector<uint8_t>>(bytes));
        if (out) CHECK(get(dut->out_window).to_bytes(WINDOW_BYTES) == *out);
        edge();
    }
    return done();
}

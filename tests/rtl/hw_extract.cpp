// config: WINDOW_BYTES=16 BYTES=16
// config: WINDOW_BYTES=19 BYTES=6
// config: WINDOW_BYTES=64 BYTES=16
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    const int offsets = WINDOW_BYTES - BYTES + 1;
    Expected<std::vector<uint8_t>> expected(log4(offsets));
    for (int i = 0; i < 5000; i++) {
        auto window = Bits::random(8 * WINDOW_BYTES);
        auto bytes = window.to_bytes(WINDOW_BYTES);
        // Offsets of which some bytes are behind the window are allowed.
        uint64_t offset = offsets > 1 ? rnd.below(uint64_t{1} << clog2(offsets)) : 0;
        bytes.resize(WINDOW_BYTES + 2 * offsets + BYTES);
        std::vector<uint8_t> want(bytes.begin() + offset, bytes.begin() + offset + BYTES);
        put(dut->in_window, window);
        dut->in_offset = offset;
        settle();
        auto out = expected.step(std::make_unique<std::vector<uint8_t>>(want));
        if (out) CHECK(get(dut->out_data).to_bytes(BYTES) == *out);
        edge();
    }
    return done();
}

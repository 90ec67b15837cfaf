// config: WORDS=1
// config: WORDS=10
// config: WORDS=33
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    Expected<uint16_t> expected(clog2(WORDS) + 2);
    for (int i = 0; i < 5000; i++) {
        Bits data = Bits::random(16 * WORDS);
        // Sums whose carries carry again, and zeros.
        for (int w = 0; w < WORDS; w++)
            if (rnd.one_in(2)) data.place(16 * w, 16, rnd.one_in(2) ? 0xffff : 0);
        uint32_t sum = 0;
        for (int w = 0; w < WORDS; w++) sum += static_cast<uint32_t>(data.slice(16 * w, 16).value());
        while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
        put(dut->in_data, data);
        settle();
        auto out = expected.step(std::make_unique<uint16_t>(static_cast<uint16_t>(~sum)));
        if (out) CHECK(dut->out_csum == *out);
        edge();
    }
    return done();
}

// config: LUTS=0
// config: LUTS=1
#include "aes.h"
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    Expected<int> expected(2);
    for (int i = 0; i < 1000; i++) {
        int bytes = i < 256 ? i << 8 | (255 - i) : static_cast<int>(rnd.below(65536));
        dut->in_bytes = bytes;
        settle();
        auto both = aes_substitute(static_cast<uint8_t>(bytes >> 8)) << 8 | aes_substitute(static_cast<uint8_t>(bytes));
        auto out = expected.step(std::make_unique<int>(both));
        if (out) CHECK(dut->out_bytes == *out);
        edge();
    }
    return done();
}

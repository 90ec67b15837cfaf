// config: SEED=19088743
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    reset(dut);
    uint64_t state = uint64_t{SEED} << 32 | static_cast<uint32_t>(~SEED);
    for (int i = 0; i < 10000; i++) {
        settle();
        CHECK(dut->out_data == state, "cycle %d", i);
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        edge();
    }
    return done();
}

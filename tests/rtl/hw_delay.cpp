// config: WIDTH=5 DELAY=3
// config: WIDTH=64 DELAY=33
// config: WIDTH=80 DELAY=48
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    reset(dut);
    Expected<Bits> expected(DELAY);
    for (int i = 0; i < 5000; i++) {
        auto data = Bits::random(WIDTH);
        put(dut->in_data, data);
        settle();
        auto out = expected.step(std::make_unique<Bits>(data));
        if (out) CHECK(get(dut->out_data) == *out);
        edge();
    }
    return done();
}

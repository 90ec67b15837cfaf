// config: WIDTH=5 DELAY=2 GAP=1
// config: WIDTH=64 DELAY=33 GAP=1
// config: WIDTH=5 DELAY=34 GAP=1
// config: WIDTH=40 DELAY=2 GAP=4
// config: WIDTH=80 DELAY=48 GAP=4
// config: WIDTH=9 DELAY=49 GAP=3
// config: WIDTH=9 DELAY=131 GAP=4
// config: WIDTH=9 DELAY=132 GAP=4
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    // What is under way when a reset comes is lost, and nothing of it is left.
    for (int run = 0; run < 4; run++) {
        reset(dut);
        Expected<Bits> soon(DELAY - 2), expected(2);
        std::unique_ptr<Bits> shown;
        int wait = 0, checked = 0;
        // Back to back, then with gaps.
        for (int i = 0; i < 4000 + run; i++) {
            bool valid = wait == 0 && (i < 1000 || rnd.below(3) == 0);
            wait = valid ? GAP - 1 : wait > 0 ? wait - 1 : 0;
            auto data = Bits::random(WIDTH);
            dut->in_valid = valid;
            put(dut->in_data, data);
            auto due = soon.step(valid ? std::make_unique<Bits>(data) : nullptr);
            dut->out_soon = due != nullptr;
            auto word = expected.step(std::move(due));
            // The word of a packet stays until that of the next one.
            if (word) shown = std::move(word);
            settle();
            if (shown) {
                CHECK(get(dut->out_data) == *shown);
                checked++;
            }
            edge();
        }
        CHECK(checked > 3000);
    }
    return done();
}

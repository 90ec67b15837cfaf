// config: WIDTH=8 DEPTH=16 RMW=0
// config: WIDTH=8 DEPTH=16 RMW=1
// config: WIDTH=40 DEPTH=100 RMW=0
// config: WIDTH=40 DEPTH=100 RMW=1
// config: WIDTH=8 DEPTH=16 RMW=2
// config: WIDTH=40 DEPTH=100 RMW=2
#include "bench.h"

int main(int argc, char** argv) {
    start(argc, argv);
    std::vector<Bits> memory(DEPTH);
    std::deque<uint64_t> reads;  // Addresses of this cycle and the two before.
    Bits expected[2];
    dut->wr_en = 0;
    for (int i = 0; i < 30000; i++) {
        // Few addresses, so that reads and writes meet.
        uint64_t range = i < 3000 ? DEPTH : 4;
        dut->rd_addr = rnd.below(range);
        dut->wr_en = i >= 1000 && rnd.chance(60);
        dut->wr_addr = RMW == 2 && reads.size() == 2 ? reads.front() : rnd.below(range);
        auto data = Bits::random(WIDTH);
        put(dut->wr_data, data);
        settle();
        if (i >= 2) CHECK(get(dut->rd_data) == expected[0], "address %llu", (unsigned long long)reads.front());
        if (dut->wr_en) memory[dut->wr_addr] = data;
        // Contents after the writes of this cycle: what the read of this cycle sees, or, with RMW, that of the last one.
        reads.push_back(dut->rd_addr);
        if (RMW) {
            expected[0] = reads.size() >= 2 ? memory[reads[reads.size() - 2]] : Bits();
        } else {
            expected[0] = expected[1];
            expected[1] = memory[dut->rd_addr];
        }
        if (reads.size() > 2) reads.pop_front();
        edge();
    }
    return done();
}

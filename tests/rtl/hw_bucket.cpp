// config: DEPTH=4 RATE_BITS=10 Q=24 TIME_BITS=12 COST_BITS=26
// config: DEPTH=64 RATE_BITS=40 Q=52 TIME_BITS=48 COST_BITS=34
#include "bench.h"

struct Packet {
    uint64_t index = 0, rate = 0, burst = 0, passed = 0, cost = 0, full = 0;
    bool fill = false, update = false, may_take = false;
};

int main(int argc, char** argv) {
    start(argc, argv);
    auto bits = [](int n) { return rnd.next() >> (64 - n) >> rnd.below(n); };
    std::vector<uint64_t> tokens(DEPTH);
    std::deque<Packet> stages(11);
    dut->fill10 = 0;
    dut->update10 = 0;
    for (int i = 0; i < 40000; i++) {
        Packet packet;
        packet.index = rnd.below(i / 1000 % 2 ? DEPTH : 2);
        packet.rate = bits(RATE_BITS);
        packet.burst = packet.full = bits(Q);
        packet.passed = rnd.one_in(2) ? rnd.below(4) : bits(TIME_BITS);
        packet.cost = bits(COST_BITS);
        packet.fill = rnd.one_in(20) || i < 100;
        packet.update = !packet.fill && rnd.chance(90);
        packet.may_take = rnd.chance(80);
        stages.push_front(packet);
        stages.pop_back();
        dut->rate2 = stages[2].rate;
        dut->burst2 = stages[2].burst;
        dut->passed3 = stages[3].passed;
        dut->cost8 = stages[8].cost;
        dut->index8 = stages[8].index;
        auto& last = stages[10];
        dut->index10 = last.index;
        dut->fill10 = i >= 10 && last.fill;
        dut->full10 = last.full;
        dut->update10 = i >= 10 && last.update;
        dut->may_take10 = last.may_take;
        settle();
        if (i >= 10) {
            auto& have = tokens[last.index];
            auto filled = static_cast<unsigned __int128>(last.passed) * last.rate + have;
            uint64_t now = filled < last.burst ? static_cast<uint64_t>(filled) : last.burst;
            // A bucket that has more than its burst, since that is not the one that it was filled to, loses the rest.
            if (last.update) {
                CHECK(bool(dut->ok10) == (now >= last.cost));
                have = now >= last.cost && last.may_take ? now - last.cost : now;
            }
            if (last.fill) have = last.full;
        }
        edge();
    }
    return done();
}

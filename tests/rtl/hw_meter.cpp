// config: DEPTH=5 RATE_BITS=20 BURST_BITS=16 TIME_BITS=32 LENGTH_BITS=11
// config: DEPTH=64 RATE_BITS=40 BURST_BITS=32 TIME_BITS=48 LENGTH_BITS=14
#include "control.h"

constexpr int Q = BURST_BITS + 20;
constexpr uint64_t MILLION = 1000000;

// As `ir::meter::Meter`.
struct Meter {
    bool configured = false, seen = false;
    uint64_t cir = 0, cbs = 0, pir = 0, pbs = 0, committed = 0, peak = 0, last = 0;

    int execute(uint64_t now, uint64_t length) {
        uint64_t passed = seen && now > last ? now - last : 0;
        seen = true;
        last = now;
        if (!configured) return 0;
        auto fill = [&](uint64_t tokens, uint64_t rate, uint64_t burst) {
            auto filled = static_cast<unsigned __int128>(passed) * rate + tokens;
            return filled < burst ? static_cast<uint64_t>(filled) : burst;
        };
        committed = fill(committed, cir, cbs);
        peak = fill(peak, pir, pbs);
        uint64_t cost = length * MILLION;
        if (peak < cost) return 2;
        peak -= cost;
        if (committed < cost) return 1;
        committed -= cost;
        return 0;
    }
};

int main(int argc, char** argv) {
    start(argc, argv);
    dut->in_valid = 0;
    dut->ctl_valid = 0;
    reset(dut);
    std::vector<Meter> meters(1 << clog2(DEPTH));
    Control control;
    Expected<int> expected(12);
    uint64_t now = 0, colors[3] = {};
    auto bits = [](int n) { return rnd.next() >> (64 - n) >> rnd.below(n); };
    for (int i = 0; i < 60000; i++) {
        uint64_t range = i / 1000 % 2 ? meters.size() : 2;
        bool valid = rnd.chance(i / 2000 % 2 ? 97 : 50);
        // Mostly little time passes, sometimes much, sometimes it goes back.
        now += rnd.one_in(3) ? rnd.below(3000) : rnd.below(3);
        if (rnd.one_in(200)) now += bits(TIME_BITS - 1);
        if (rnd.one_in(200)) now -= rnd.below(now + 1);
        now &= (uint64_t{1} << TIME_BITS) - 1;
        dut->in_valid = valid;
        dut->in_index = rnd.below(range);
        put(dut->in_now, now);
        dut->in_length = rnd.one_in(2) ? 1 : bits(LENGTH_BITS);
        Bits config;
        uint64_t cbs = bits(BURST_BITS) * MILLION, pbs = bits(BURST_BITS) * MILLION;
        uint64_t cir = bits(RATE_BITS), pir = bits(RATE_BITS);
        config.place(0, Q, pbs).place(Q, RATE_BITS, pir).place(Q + RATE_BITS, Q, cbs).place(2 * Q + RATE_BITS, RATE_BITS, cir);
        bool configured = !rnd.one_in(6);
        config.set_bit(2 * Q + 2 * RATE_BITS, configured);
        control.drive(rnd.one_in(50), !rnd.one_in(4), rnd.below(std::min<uint64_t>(range, DEPTH)), config);
        settle();
        control.done();
        if (control.accepted()) {
            CHECK(!valid);
            auto field = [&](int low, int width) { return control.value.slice(low, width).value(); };
            if (control.is_write) {
                auto& meter = meters[control.number];
                meter = Meter{bool(field(2 * Q + 2 * RATE_BITS, 1)), false, field(2 * Q + RATE_BITS, RATE_BITS),
                              field(Q + RATE_BITS, Q), field(Q, RATE_BITS), field(0, Q)};
                meter.committed = meter.cbs;
                meter.peak = meter.pbs;
            }
        }
        std::unique_ptr<int> entering;
        if (valid) {
            int color = dut->in_index < DEPTH ? meters[dut->in_index].execute(now, dut->in_length) : 0;
            colors[color]++;
            entering = std::make_unique<int>(color);
        }
        auto leaving = expected.step(std::move(entering));
        CHECK(bool(dut->out_valid) == bool(leaving));
        if (leaving) CHECK(dut->out_color == *leaving, "%d instead of %d", dut->out_color, *leaving);
        edge();
    }
    CHECK(control.count > 200 && colors[1] > 200 && colors[2] > 200);
    return done();
}

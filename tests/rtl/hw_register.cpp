// config: WIDTH=9 DEPTH=20
// config: WIDTH=48 DEPTH=128
#include "control.h"

int main(int argc, char** argv) {
    start(argc, argv);
    dut->rd_valid = 0;
    dut->wr_en = 0;
    dut->ctl_valid = 0;
    reset(dut);
    const uint64_t size = uint64_t{1} << clog2(DEPTH);
    std::vector<Bits> registers(size);
    Control control;
    struct Read {
        bool valid;
        uint64_t index;
    };
    std::deque<Read> reads{{false, 0}, {false, 0}};  // Of the last two cycles.
    std::vector<Bits> seen(size);                     // The registers as of the end of the last cycle.
    for (int i = 0; i < 40000; i++) {
        uint64_t range = i / 1000 % 2 ? size : 3;
        unsigned load = i / 2000 % 2 ? 90 : 40;
        dut->rd_valid = rnd.chance(load);
        dut->rd_index = rnd.below(range);
        control.drive(rnd.one_in(4), rnd.one_in(2), rnd.below(std::min<uint64_t>(range, DEPTH)), Bits::random(WIDTH));
        dut->wr_en = 0;
        settle();
        // The read of two cycles ago has its value, which holds all writes up to the last cycle.
        auto read = reads.front();
        Bits expected = read.index < DEPTH ? seen[read.index] : Bits();
        if (read.valid) CHECK(get(dut->rd_data) == expected, "index %llu: %s instead of %s", (unsigned long long)read.index,
                  get(dut->rd_data).hex().c_str(), expected.hex().c_str());
        // A program that adds to what it has read, or a write of its own.
        Bits next = Bits::random(WIDTH);
        dut->wr_en = rnd.chance(load);
        dut->wr_index = rnd.below(range);
        if (read.valid && rnd.one_in(2)) {
            dut->wr_en = 1;
            dut->wr_index = read.index;
            next = Bits(get(dut->rd_data).value() + 1).slice(0, WIDTH);
        }
        put(dut->wr_data, next);
        settle();
        control.accepted();
        if (control.done()) {
            CHECK(get(dut->ctl_rdata) == seen[control.number], "index %llu: %s instead of %s", (unsigned long long)control.number,
                  get(dut->ctl_rdata).hex().c_str(), seen[control.number].hex().c_str());
            if (control.is_write) {
                CHECK(!dut->wr_en);
                registers[control.number] = control.value;
            }
        }
        if (dut->wr_en && dut->wr_index < DEPTH) registers[dut->wr_index] = next;
        reads.push_back({bool(dut->rd_valid), dut->rd_index});
        reads.pop_front();
        seen = registers;
        edge();
    }
    CHECK(control.count > 300, "%llu", (unsigned long long)control.count);
    return done();
}

// config: BUS_BYTES=4 DEPTH=64 BYTES=1
// config: BUS_BYTES=32 DEPTH=64 BYTES=60
// config: BUS_BYTES=64 DEPTH=64 BYTES=24
// config: BUS_BYTES=32 DEPTH=64 BYTES=44 PART=8
// config: BUS_BYTES=64 DEPTH=64 BYTES=9 PART=2
// config: BUS_BYTES=32 DEPTH=64 BYTES=61 PART=16
#include "bench.h"
#ifndef PART
#define PART BUS_BYTES
#endif

int main(int argc, char** argv) {
    start(argc, argv);
    const bool whole = PART == BUS_BYTES;
    const int reads = whole ? (2 * BUS_BYTES - 2 + BYTES) / BUS_BYTES : (BYTES + PART - 1) / PART + 1;
    const int total = BUS_BYTES * DEPTH;
    std::vector<uint8_t> memory(total);
    for (auto& byte : memory) byte = static_cast<uint8_t>(rnd.next());
    dut->in_valid = 0;
    dut->wr_en = 1;
    for (int word = 0; word < DEPTH; word++) {
        dut->wr_addr = word;
        Bits data(8 * BUS_BYTES);
        for (int i = 0; i < BUS_BYTES; i++) data.set_byte(i, memory[word * BUS_BYTES + i]);
        put(dut->wr_data, data);
        edge();
    }
    dut->wr_en = 0;
    Expected<std::vector<uint8_t>> expected(4 + reads + log4(BUS_BYTES) + (whole ? 0 : log4(PART)));
    int next = 0;
    for (int i = 0; i < 5000; i++) {
        dut->in_valid = i >= next && !rnd.one_in(4);
        int start = static_cast<int>(rnd.below(DEPTH)), offset = static_cast<int>(rnd.below(total));
        dut->in_start = start;
        dut->in_offset = offset;
        std::unique_ptr<std::vector<uint8_t>> entering;
        if (dut->in_valid) {
            next = i + reads;
            entering = std::make_unique<std::vector<uint8_t>>();
            for (int b = 0; b < BYTES; b++) entering->push_back(memory[(start * BUS_BYTES + offset + b) % total]);
        }
        settle();
        auto out = expected.step(std::move(entering));
        if (out) CHECK(get(dut->out_data).to_bytes(BYTES) == *out);
        edge();
    }
    return done();
}

// config: BITS=8 OUT_BITS=8
// config: BITS=104 OUT_BITS=32
// config: BITS=296 OUT_BITS=16
#include "bench.h"

// CRC-32 with zeros at both ends, which is what the engine does without other parameters.
uint32_t crc(const std::vector<uint8_t>& bytes) {
    uint32_t crc = 0;
    for (uint8_t byte : bytes) {
        crc ^= byte;
        for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return crc;
}

int main(int argc, char** argv) {
    start(argc, argv);
    Expected<uint64_t> expected(2);
    for (int i = 0; i < 5000; i++) {
        Bits data = Bits::random(BITS);
        put(dut->in_data, data);
        settle();
        uint64_t all = crc(data.to_bytes(BITS / 8));
        auto out = expected.step(std::make_unique<uint64_t>(all & ((uint64_t{1} << OUT_BITS) - 1)));
        if (out) CHECK(dut->out_crc == *out);
        edge();
    }
    return done();
}

// config: ALGORITHM=0 DATA_BITS=104
// config: ALGORITHM=1 DATA_BITS=296
// config: ALGORITHM=2 DATA_BITS=296
// config: ALGORITHM=2 DATA_BITS=16
// config: ALGORITHM=3 DATA_BITS=40
// config: ALGORITHM=3 DATA_BITS=128
#include "bench.h"

// As `ir::hash`.
uint64_t hash(int algorithm, const std::vector<uint8_t>& data) {
    if (algorithm <= 1) {
        uint32_t crc = algorithm == 0 ? ~0u : 0;
        for (uint8_t byte : data) {
            crc ^= byte;
            for (int i = 0; i < 8; i++) crc = crc >> 1 ^ (crc & 1 ? (algorithm == 0 ? 0xedb88320 : 0xa001) : 0);
        }
        return algorithm == 0 ? static_cast<uint32_t>(~crc) : crc;
    }
    uint64_t result = 0;
    if (algorithm == 2)
        for (size_t i = 0; i < data.size(); i++) result ^= static_cast<uint64_t>(data[i]) << (i % 2 ? 0 : 8);
    else
        for (size_t i = 0; i < data.size() && i < 8; i++) result = result << 8 | data[i];
    return result;
}

int main(int argc, char** argv) {
    // The check values of CRC-32/ISO-HDLC and CRC-16/ARC.
    std::vector<uint8_t> digits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    CHECK(hash(0, digits) == 0xcbf43926);
    CHECK(hash(1, digits) == 0xbb3d);
    start(argc, argv);
    Expected<uint64_t> expected(2);
    for (int i = 0; i < 5000; i++) {
        Bits data = Bits::random(DATA_BITS);
        put(dut->in_data, data);
        settle();
        auto out = expected.step(std::make_unique<uint64_t>(hash(ALGORITHM, data.to_bytes(DATA_BITS / 8))));
        if (out) CHECK(dut->out_hash == *out);
        edge();
    }
    return done();
}

// config: LUTS=1
// config: LUTS=0
#include "aes.h"
#include "bench.h"

int main(int argc, char** argv) {
    check_aes_model();
    start(argc, argv);
    Expected<Block> expected(31);
    for (int i = 0; i < 3000; i++) {
        Bits block = Bits::random(128), key = Bits::random(128);
        put(dut->in_block, block);
        put(dut->in_key, key);
        settle();
        Block bytes, key_bytes;
        for (int b = 0; b < 16; b++) bytes[b] = block.byte(15 - b), key_bytes[b] = key.byte(15 - b);
        auto leaving = expected.step(std::make_unique<Block>(aes_encrypt(aes_round_keys(key_bytes), bytes)));
        if (leaving) CHECK(get(dut->out_block) == Bits::of_bytes({leaving->begin(), leaving->end()}));
        edge();
    }
    return done();
}

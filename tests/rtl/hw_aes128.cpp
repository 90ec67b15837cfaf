// config: KEYS=1 LUTS=1
// config: KEYS=16 LUTS=0
#include "aes.h"
#include "bench.h"

int main(int argc, char** argv) {
    check_aes_model();
    start(argc, argv);
    dut->in_valid = 0;
    dut->wr_en = 0;
    reset(dut);
    Expected<Block> expected(31);
    std::vector<std::vector<Block>> keys(KEYS);

    auto step = [&](int changing) {
        int index = static_cast<int>(rnd.below(KEYS));
        bool valid = rnd.chance(80) && index != changing && !keys[index].empty();
        Bits block = Bits::random(128);
        dut->in_valid = valid;
        dut->in_key_index = index;
        put(dut->in_block, block);
        settle();
        std::unique_ptr<Block> entering;
        if (valid) {
            Block bytes;
            for (int i = 0; i < 16; i++) bytes[i] = block.byte(15 - i);
            entering = std::make_unique<Block>(aes_encrypt(keys[index], bytes));
        }
        auto leaving = expected.step(std::move(entering));
        CHECK(bool(dut->out_valid) == bool(leaving));
        if (leaving) CHECK(get(dut->out_block) == Bits::of_bytes({leaving->begin(), leaving->end()}));
        edge();
    };
    for (int round = 0; round < 30; round++) {
        int changing = static_cast<int>(rnd.below(KEYS));
        for (int i = 0; i < 32; i++) step(changing);
        Block key;
        for (auto& byte : key) byte = static_cast<uint8_t>(rnd.next());
        auto fresh = aes_round_keys(key);
        for (int r = 0; r <= 10; r++) {
            dut->wr_en = 1;
            dut->wr_addr = changing << 4 | r;
            put(dut->wr_data, Bits::of_bytes({fresh[r].begin(), fresh[r].end()}));
            step(changing);
            dut->wr_en = 0;
        }
        keys[changing] = fresh;
        for (int i = 0; i < 60; i++) step(-1);
    }
    return done();
}

// config: KEYS=1 LUTS=1
// config: KEYS=16 LUTS=0
// config: KEYS=16 LUTS=0 ROUNDS=5 TURN=16
// config: KEYS=5 LUTS=0 ROUNDS=2 TURN=7
// config: KEYS=1 LUTS=1 ROUNDS=1 TURN=5
#include "aes.h"
#include "bench.h"

#ifndef ROUNDS
#define ROUNDS 10
#define TURN 31
#endif
constexpr int TURNS = 10 / ROUNDS;

int main(int argc, char** argv) {
    check_aes_model();
    start(argc, argv);
    dut->in_valid = 0;
    dut->wr_en = 0;
    reset(dut);
    Expected<Block> expected(1 + (TURNS - 1) * TURN + 3 * ROUNDS);
    uint64_t cycle = 0;
    std::vector<uint64_t> entered(TURN, 0);  // By cycle modulo TURN; what entered has left by the last turn.
    std::vector<std::vector<Block>> keys(KEYS);

    auto step = [&](int changing) {
        int index = static_cast<int>(rnd.below(KEYS));
        uint64_t& before = entered[++cycle % TURN];
        bool free = before == 0 || cycle - before >= TURNS * TURN;
        bool valid = rnd.chance(80) && index != changing && !keys[index].empty() && free;
        if (valid) before = cycle;
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
        for (int i = 0; i < TURNS * TURN + 1; i++) step(changing);
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
        for (int i = 0; i < 2 * TURNS * TURN; i++) step(-1);
    }
    return done();
}

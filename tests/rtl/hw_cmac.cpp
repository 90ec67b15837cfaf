// config: MESSAGE_BYTES=16 KEYS=4 LUTS=0
// config: MESSAGE_BYTES=20 KEYS=3 LUTS=1
// config: MESSAGE_BYTES=16 KEYS=4 LUTS=0 ROUNDS=2 TURN=7
// config: MESSAGE_BYTES=20 KEYS=3 LUTS=1 ROUNDS=5 TURN=16
#include "aes.h"
#include "bench.h"

#ifndef ROUNDS
#define ROUNDS 10
#define TURN 31
#endif
constexpr int TURNS = 10 / ROUNDS;
constexpr int BLOCK_LATENCY = 2 + (TURNS - 1) * TURN + 3 * ROUNDS;

int main(int argc, char** argv) {
    check_aes_model();
    start(argc, argv);
    dut->in_valid = 0;
    dut->wr_en = 0;
    reset(dut);
    std::vector<std::vector<Block>> keys;
    for (int index = 0; index < KEYS; index++) {
        Block key;
        for (auto& byte : key) byte = static_cast<uint8_t>(rnd.next());
        keys.push_back(aes_round_keys(key));
        auto written = keys.back();
        for (auto& subkey : cmac_subkeys(keys.back())) written.push_back(subkey);
        for (size_t round = 0; round < written.size(); round++) {
            dut->wr_en = 1;
            dut->wr_addr = index << 4 | round;
            put(dut->wr_data, Bits::of_bytes({written[round].begin(), written[round].end()}));
            edge();
        }
        dut->wr_en = 0;
    }
    edge();  // A key is there two cycles after its last write.
    Expected<Block> expected(1 + BLOCK_LATENCY * ((MESSAGE_BYTES + 15) / 16));
    std::vector<int> entered(TURN, -TURNS * TURN);
    for (int i = 0; i < 700; i++) {
        int& before = entered[i % TURN];
        bool valid = rnd.chance(80) && i - before >= TURNS * TURN;
        if (valid) before = i;
        uint64_t index = rnd.below(KEYS);
        Bits message = Bits::random(8 * MESSAGE_BYTES);
        dut->in_valid = valid;
        dut->in_key_index = index;
        put(dut->in_message, message);
        settle();
        std::unique_ptr<Block> entering;
        if (valid) entering = std::make_unique<Block>(cmac(keys[index], message.to_bytes(MESSAGE_BYTES)));
        auto leaving = expected.step(std::move(entering));
        CHECK(bool(dut->out_valid) == bool(leaving));
        if (leaving) CHECK(get(dut->out_mac) == Bits::of_bytes({leaving->begin(), leaving->end()}));
        edge();
    }
    return done();
}

// config: WIDTH=20 DEPTH=4
// config: WIDTH=100 DEPTH=64
#include "control.h"

int main(int argc, char** argv) {
    start(argc, argv);
    dut->in_valid = dut->ctl_valid = 0;
    reset(dut);
    std::deque<Bits> given;  // Words that have come and have neither been taken nor passed over by one that has been.
    uint64_t all = 0, taken = 0, lost = 0, none = 0;
    Control control;
    bool last_was_none = false;
    auto step = [&](bool comes, bool asks, bool write, uint64_t index) {
        dut->in_valid = comes;
        Bits word = Bits::random(WIDTH);
        put(dut->in_data, word);
        control.drive(asks, write, index, Bits());
        settle();
        control.accepted();
        if (control.done()) {
            Bits answer = get(dut->ctl_rdata);
            if (control.number == 1) {
                if (control.is_write) lost += answer.value();
            } else if (answer.slice(WIDTH, 1) == Bits(1)) {
                last_was_none = false;
                // In order, without those that were lost.
                while (!given.empty() && given.front() != answer.slice(0, WIDTH)) given.pop_front();
                CHECK(!given.empty(), "a word from nowhere");
                if (control.is_write) {
                    given.pop_front();
                    taken++;
                }
            } else {
                last_was_none = true;
                none++;
            }
        }
        if (comes) {
            given.push_back(word);
            all++;
        }
        edge();
    };
    for (int i = 0; i < 60000; i++) {
        bool fast = i / 2000 % 2 == 1;
        step(rnd.one_in(fast ? 2 : 12), rnd.one_in(fast ? 20 : 2), rnd.one_in(2), rnd.one_in(8));
    }
    for (int i = 0; i < 8 * DEPTH + 40; i++) step(false, true, true, 0);
    CHECK(last_was_none, "the queue is never empty");
    for (int i = 0; i < 20; i++) step(false, true, true, 1);
    CHECK(all == taken + lost, "%llu came, %llu were taken, %llu lost", (unsigned long long)all, (unsigned long long)taken,
          (unsigned long long)lost);
    CHECK(taken > 1000 && lost > 500 && none > 50);
    return done();
}

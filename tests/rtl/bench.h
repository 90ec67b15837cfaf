// What the tests of the engines share: the engine and its clock. A test includes this file, drives `dut`, and ends with
// `return done();`. Parameters of the engine are macros of the same names.
#pragma once

#include "numbers.h"

#include "Vdut.h"

inline std::unique_ptr<Vdut> dut;

// Creates the engine; registers start with random values. `+seed=N` chooses them and the test's own.
inline void start(int argc, char** argv) {
    Verilated::commandArgs(argc, argv);
    const char* seed = Verilated::commandArgsPlusMatch("seed=");
    uint64_t number = *seed ? std::strtoull(seed + 6, nullptr, 10) : 1;
    rnd = Random(number);
    Verilated::randReset(2);
    Verilated::randSeed(static_cast<int>(number));
    dut = std::make_unique<Vdut>();
    dut->clk = 0;
}

// Lets inputs of this cycle reach the outputs.
inline void settle() { dut->eval(); }

// Ends the cycle.
inline void edge() {
    dut->eval();
    dut->clk = 1;
    dut->eval();
    dut->clk = 0;
    dut->eval();
    cycle++;
}

// Some cycles of reset, with whatever is at the other inputs.
template <typename Dut> void reset(Dut& device) {
    device->rst = 1;
    for (int i = 0; i < 3; i++) edge();
    device->rst = 0;
}

// What a rigid pipeline has to give, `latency` cycles after it was asked.
template <typename T> class Expected {
public:
    explicit Expected(int latency) : waiting(static_cast<size_t>(latency)) {}
    // The expectation for the outputs of this cycle; `entering` is what enters in this cycle.
    std::unique_ptr<T> step(std::unique_ptr<T> entering) {
        waiting.push_back(std::move(entering));
        auto leaving = std::move(waiting.front());
        waiting.pop_front();
        return leaving;
    }

private:
    std::deque<std::unique_ptr<T>> waiting;
};

// Ends a test that has passed.
inline int done() {
    dut->final();
    dut.reset();
    return 0;
}

// The test of an engine with one stream in and one out, which gives back what it takes: order, capacity, latency, throughput,
// data that stay while they wait.
#pragma once

#include "bench.h"

inline int check_stream(unsigned capacity, unsigned latency) {
    dut->in_valid = 0;
    dut->out_ready = 0;
    reset(dut);
    std::deque<Bits> held;
    Bits offered;

    // One cycle with a word offered and a word wanted, or not. An offer that was not taken stays.
    bool offering = false, waiting = false, taken = false;
    Bits shown;
    auto step = [&](bool offer, bool want) {
        if (!offering && offer) offered = Bits::random(WIDTH);
        offering |= offer;
        dut->in_valid = offering;
        put(dut->in_data, offering ? offered : Bits::random(WIDTH));
        dut->out_ready = want;
        settle();
        if (waiting) CHECK(dut->out_valid && get(dut->out_data) == shown);
        bool in = dut->in_valid && dut->in_ready;
        taken = dut->out_valid && dut->out_ready;
        if (dut->out_valid) {
            CHECK(!held.empty(), "a word from nowhere");
            CHECK(get(dut->out_data) == held.front(), "%s instead of %s", get(dut->out_data).hex().c_str(),
                  held.front().hex().c_str());
        }
        waiting = dut->out_valid && !taken;
        shown = get(dut->out_data);
        if (taken) held.pop_front();
        if (in) {
            held.push_back(offered);
            offering = false;
        }
        edge();
    };
    auto drain = [&] {
        for (int i = 0; i < 10 || offering; i++) step(false, true);
        while (!held.empty()) step(false, true);
    };

    // Latency of a lone word.
    for (int i = 0; i < 20; i++) {
        drain();
        step(true, true);
        for (unsigned at = 1; at < latency; at++) {
            CHECK(!taken, "too early");
            step(false, true);
        }
        step(false, true);
        CHECK(taken, "not there after %u cycles", latency);
    }
    // Capacity.
    drain();
    for (unsigned i = 0; i < 2 * capacity + 10; i++) step(true, false);
    CHECK(held.size() >= capacity, "%zu words fit", held.size());
    // Throughput, full and empty.
    for (bool full : {true, false}) {
        if (!full) drain();
        for (unsigned i = 0; i < 10; i++) step(true, true);
        for (unsigned i = 0; i < 500; i++) {
            step(true, true);
            CHECK(taken, "a word a cycle");
        }
    }
    // Any mixture of gaps and back-pressure, with a reset now and then.
    for (int round = 0; round < 60; round++) {
        unsigned in = static_cast<unsigned>(rnd.below(101)), out = static_cast<unsigned>(rnd.below(101));
        for (int i = 0; i < 500; i++) step(rnd.chance(in), rnd.chance(out));
        if (rnd.one_in(4)) {
            dut->in_valid = 0;
            reset(dut);
            held.clear();
            offering = waiting = false;
        }
    }
    drain();
    CHECK(held.empty());
    return done();
}

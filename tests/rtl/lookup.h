// What the tests of lookup engines share: lookups with gaps, each checked after the engine's latency.
#pragma once

#include "bench.h"

class Lookups {
public:
    // Resets the engine.
    explicit Lookups(int latency) : expected(latency) {
        dut->in_valid = 0;
        dut->wr_en = 0;
        reset(dut);
    }

    // A cycle, with a lookup that has to find `data`, or nothing, or without a lookup. The caller has set the inputs for writes.
    void step(bool lookup, const Bits& key, const Bits* data) {
        dut->in_valid = lookup;
        put(dut->in_key, lookup ? key : Bits::random(KEY_BITS));
        settle();
        std::unique_ptr<Result> entering;
        if (lookup) entering = std::make_unique<Result>(Result{data != nullptr, data ? *data : Bits()});
        auto leaving = expected.step(std::move(entering));
        CHECK(bool(dut->out_valid) == bool(leaving));
        if (leaving) {
            CHECK(bool(dut->out_hit) == leaving->hit);
            if (leaving->hit)
                CHECK(get(dut->out_data) == leaving->data, "%s instead of %s", get(dut->out_data).hex().c_str(),
                      leaving->data.hex().c_str());
        }
        edge();
    }

    // A cycle without a write.
    void look(bool lookup, const Bits& key, const Bits* data) {
        dut->wr_en = 0;
        step(lookup, key, data);
    }

private:
    struct Result {
        bool hit;
        Bits data;
    };
    Expected<Result> expected;
};

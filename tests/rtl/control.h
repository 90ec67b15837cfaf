// What the tests of counters, registers and meters share: the driver's requests, one at a time.
#pragma once

#include "bench.h"

class Control {
public:
    // Sets the inputs for this cycle; a new request begins in some of them.
    void drive(bool may_begin, bool write, uint64_t index, const Bits& data) {
        if (!asking && !waiting && may_begin) {
            asking = true;
            is_write = write;
            number = index;
            value = data;
        }
        dut->ctl_valid = asking;
        bool under_way = asking || waiting;
        dut->ctl_write = under_way ? is_write : rnd.one_in(2);
        dut->ctl_index = under_way ? number : 0;
        put(dut->ctl_wdata, under_way ? value : Bits());
    }

    // What happens in this cycle, when it has settled.
    bool accepted() {
        if (!(dut->ctl_valid && dut->ctl_ready)) return false;
        CHECK(asking);
        asking = false;
        waiting = true;
        since = cycle;
        return true;
    }
    bool done() {
        if (!dut->ctl_done) return false;
        CHECK(waiting, "an answer from nowhere");
        waiting = false;
        count++;
        return true;
    }

    bool is_write = false;
    uint64_t number = 0, since = 0, count = 0;
    Bits value;

private:
    bool asking = false, waiting = false;
};

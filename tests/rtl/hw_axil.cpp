// config: ADDR_BITS=12
#include "bench.h"

struct Write {
    uint32_t address, data, strobes;
};

int main(int argc, char** argv) {
    start(argc, argv);
    dut->awvalid = dut->wvalid = dut->arvalid = 0;
    reset(dut);
    std::deque<uint32_t> reads;  // Asked, and not yet answered.
    std::deque<Write> writes;    // Addressed, or their data given, or both.
    size_t addressed = 0, given = 0, done_on_bus = 0, answers = 0;
    bool aw = false, w = false, ar = false;
    auto value = [](uint32_t address) { return address * 0x9e3779b1u + 7; };
    uint64_t read_count = 0;
    for (int i = 0; i < 40000; i++) {
        // What each channel offers stays until it is taken.
        unsigned lazy = i / 5000 % 2 ? 80 : 10;
        aw = aw || !rnd.chance(lazy);
        w = w || !rnd.chance(lazy);
        ar = ar || !rnd.chance(lazy);
        while (writes.size() <= std::max(addressed, given))
            writes.push_back({static_cast<uint32_t>(rnd.below(1024) * 4), static_cast<uint32_t>(rnd.next()),
                              rnd.one_in(5) ? static_cast<uint32_t>(rnd.below(16)) : 15});
        dut->awvalid = aw;
        dut->awaddr = writes[addressed].address;
        dut->wvalid = w;
        dut->wdata = writes[given].data;
        dut->wstrb = writes[given].strobes;
        if (!dut->arvalid) dut->araddr = rnd.below(1024) * 4;
        dut->arvalid = ar;
        dut->bready = !rnd.chance(lazy);
        dut->rready = !rnd.chance(lazy);
        dut->bus_wr_ready = !rnd.chance(lazy);
        dut->bus_rd_valid = 0;
        settle();
        dut->bus_rd_valid = dut->bus_rd_en && !rnd.chance(lazy);
        dut->bus_rd_data = dut->bus_rd_valid ? value(dut->bus_rd_addr) : static_cast<uint32_t>(rnd.next());
        settle();

        if (dut->bus_wr_en) {
            CHECK(addressed > 0 && given > 0 && done_on_bus == 0);
            CHECK(writes[0].strobes == 15);
            CHECK(dut->bus_wr_addr == writes[0].address && dut->bus_wr_data == writes[0].data);
            done_on_bus += dut->bus_wr_ready;
        }
        if (dut->bvalid) {
            CHECK(addressed > 0 && given > 0);
            CHECK(dut->bresp == (writes[0].strobes == 15 ? 0 : 2));
            CHECK(done_on_bus == (writes[0].strobes == 15));
            if (dut->bready) {
                writes.pop_front();
                addressed--, given--;
                done_on_bus = 0;
                answers++;
            }
        }
        if (dut->rvalid) {
            CHECK(!reads.empty());
            CHECK(dut->rdata == value(reads.front()) && dut->rresp == 0);
            if (dut->rready) {
                reads.pop_front();
                read_count++;
            }
        }
        if (dut->bus_rd_en) CHECK(!reads.empty() && dut->bus_rd_addr == reads.front());
        if (dut->awvalid && dut->awready) addressed++, aw = false;
        if (dut->wvalid && dut->wready) given++, w = false;
        if (dut->arvalid && dut->arready) {
            reads.push_back(dut->araddr);
            ar = false;
            CHECK(reads.size() == 1);
        }
        edge();
        if (!ar) dut->arvalid = 0;
    }
    CHECK(answers > 3000 && read_count > 3000, "%zu writes, %llu reads", answers, (unsigned long long)read_count);
    return done();
}

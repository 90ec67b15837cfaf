// config: WIDTH=20 LIST=16 PACKETS=4 COPIES=4 GAP=1
// config: WIDTH=33 LIST=64 PACKETS=16 COPIES=8 GAP=3
// config: WIDTH=8 LIST=64 PACKETS=64 COPIES=64 GAP=4 ALIGNED=1
// config: WIDTH=24 LIST=16 PACKETS=8 COPIES=8 GAP=2 SHADOWS=1
// config: WIDTH=300 LIST=256 PACKETS=32 COPIES=16 GAP=1
#include "bench.h"

#ifndef SHADOWS
#define SHADOWS 0
#endif

struct Copy {
    uint64_t port, rid;
    bool cloned, replicated, none, last;
    Bits data;
    bool shadow = false;
};

int main(int argc, char** argv) {
    start(argc, argv);
    const int latency = 5;  // Of the pipeline in front.
    std::vector<std::pair<uint64_t, uint64_t>> list(LIST);
    std::deque<Copy> expected;
    std::deque<bool> coming(latency);
    uint64_t inside = 0, flying = 0, last_copy = 0, seen = 0, since = 0;
    dut->in_valid = dut->entering = dut->done = dut->changed = 0;
    dut->wr_en = 0;
    reset(dut);
    unsigned gaps = 0, slow = 0;
    for (int i = 0; i < 60000; i++) {
        if (i % 2000 == 0) {
            gaps = static_cast<unsigned>(rnd.below(95));
            slow = static_cast<unsigned>(rnd.below(95));
            if (rnd.one_in(3)) gaps = slow = 0;
            CHECK(i == 0 || seen > 0, "no copy since cycle %d", i - 2000);
            seen = 0;
        }
        // Lists do not change while they are used; their ends do, here, when nothing is under way.
        dut->wr_en = inside == 0 && rnd.one_in(2);
        if (dut->wr_en) {
            uint64_t at = rnd.below(LIST);
            list[at] = {rnd.below(1 << 16), rnd.below(512)};
            dut->wr_addr = at;
            dut->wr_data = list[at].first << 9 | list[at].second;
        } else {
            dut->wr_addr = rnd.below(LIST);
        }
        bool enters = inside < PACKETS && !rnd.chance(gaps) && !dut->wr_en;
        if (i % 500 > 470) enters = false;
        dut->entering = enters;
        inside += enters;
        coming.push_back(enters);
        dut->in_valid = coming.front();
        coming.pop_front();
        dut->changed = rnd.one_in(50);
        Bits data = Bits::random(WIDTH);
        put(dut->in_data, data);
        auto some = [] { return rnd.one_in(2) ? 0 : rnd.below(rnd.one_in(8) ? LIST / 2 : 4); };
        uint64_t clones = some(), replicas = some();
        uint64_t clones_at = rnd.below(LIST - clones), replicas_at = rnd.below(LIST - replicas);
        bool clone_valid = rnd.one_in(3), port_valid = replicas == 0 && rnd.one_in(2);
        uint64_t clone_port = rnd.below(512), port = rnd.below(512);
        dut->in_clones = clones;
        dut->in_clones_at = clones_at;
        dut->in_clone_valid = clone_valid;
        dut->in_clone_port = clone_port;
        dut->in_replicas = replicas;
        dut->in_replicas_at = replicas_at;
        dut->in_port_valid = port_valid;
        dut->in_port = port;
        if (dut->in_valid) {
            size_t before = expected.size();
            auto member = [&](uint64_t at, bool cloned) {
                expected.push_back({list[at].second, list[at].first, cloned, true, false, false, data});
            };
            for (uint64_t k = 0; k < clones; k++) member(clones_at + k, true);
            if (clone_valid) expected.push_back({clone_port, 0, true, false, false, false, data});
            for (uint64_t k = 0; k < replicas; k++) member(replicas_at + k, false);
            if (port_valid) expected.push_back({port, 0, false, false, false, false, data});
            if (expected.size() == before) expected.push_back({0, 0, false, false, true, false, data});
            if (SHADOWS) {
                // Each is followed by its shadow.
                std::deque<Copy> all(expected.begin(), expected.begin() + static_cast<long>(before));
                for (size_t k = before; k < expected.size(); k++) {
                    all.push_back(expected[k]);
                    all.push_back(expected[k]);
                    all.back().shadow = true;
                }
                expected = all;
            }
            expected.back().last = true;
        }
        dut->done = flying > 0 && !rnd.chance(slow);
        flying -= dut->done;
        settle();
        if (dut->out_valid) {
            CHECK(!expected.empty(), "a copy from nowhere");
            auto& want = expected.front();
            CHECK(bool(dut->out_none) == want.none);
            CHECK(bool(dut->out_last) == want.last);
            CHECK(bool(dut->out_shadow) == want.shadow);
            CHECK(bool(dut->out_cloned) == want.cloned);
            CHECK(bool(dut->out_replicated) == want.replicated);
            if (!want.none) CHECK(dut->out_port == want.port);
            CHECK(dut->out_rid == want.rid);
            CHECK(get(dut->out_data) == want.data);
            CHECK(last_copy == 0 || cycle - last_copy >= GAP);
#ifdef ALIGNED
            CHECK(last_copy == 0 || (cycle - last_copy) % GAP == 0);
#endif
            last_copy = cycle;
            flying++;
            seen++;
            CHECK(flying <= COPIES);
            inside -= want.last;
            if (since > 0) since -= want.last;
            expected.pop_front();
        }
        // It is busy exactly until the last packet that was there before the change has left.
        CHECK(bool(dut->busy) == (since > 0));
        if (dut->changed) since = inside;
        edge();
    }
    return done();
}

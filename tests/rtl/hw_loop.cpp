// config: BUS_BYTES=8 META_BITS=16 WORDS=256 PACKETS=64 MAX_BYTES=64 PASS_BITS=12
// config: BUS_BYTES=8 META_BITS=16 WORDS=32 PACKETS=4 MAX_BYTES=64 PASS_BITS=4
// config: BUS_BYTES=8 META_BITS=16 WORDS=512 PACKETS=64 MAX_BYTES=64 PASS_BITS=12 PRIORITY=1
#include "bench.h"

#ifndef PRIORITY
#define PRIORITY 0
#endif

// Without room for all that may wait, packets are dropped.
constexpr bool drops = WORDS < 64;

struct Packet {
    uint64_t meta;
    std::vector<uint64_t> words;
};

int main(int argc, char** argv) {
    start(argc, argv);
    dut->in_valid = dut->back_valid = dut->verdict = dut->dropped = dut->in_bad = 0;
    dut->in_bytes = dut->back_bytes = 8;
    reset(dut);
    uint64_t metas = 0, entered = 0, settled = 0, again = 0, lost = 0, left = 0;
    std::deque<Packet> inside;                    // Packets in the design that have no verdict.
    std::deque<std::pair<Packet, bool>> leaving;  // What has a verdict, and whether it loops.
    std::deque<Packet> looping;                   // What has been given back to pass again.
    std::deque<Packet> mirrors;                   // Of them, what enters first.
    auto mirrored = [](const Packet& packet) { return PRIORITY && packet.meta >> 15; };
    Packet offered, entering;
    size_t offered_at = 0, back_at = 0;
    bool offering = false;
    std::deque<bool> verdicts;  // Whether the copies of the first packet inside loop.
    // The highest bit says that it is mirrored, at random.
    auto fresh = [&] {
        if (PRIORITY) return Packet{(++metas % 0x7fff + 1) | (rnd.one_in(2) ? 0x8000u : 0u), {}};
        return Packet{++metas & 0xffff ? metas & 0xffff : ++metas & 0xffff, {}};
    };
    for (int i = 0; i < 60000; i++) {
        bool pressure = i / 3000 % 2 == 1;
        // From outside.
        if (!offering && rnd.one_in(2)) {
            offered.words.assign(1 + rnd.below(8), 0);
            for (auto& word : offered.words) word = rnd.below(~0ull);
            offered_at = 0;
            offering = true;
        }
        dut->in_valid = offering;
        dut->in_data = offering ? offered.words[offered_at] : rnd.below(~0ull);
        dut->in_last = offering && offered_at + 1 == offered.words.size();
        dut->in_now = 1000 + entered;
        dut->pass_ready = !(pressure && rnd.one_in(3));
        // A verdict of the first packet: up to three copies, which rarely loop again if they have done so.
        dut->verdict = dut->verdict_last = dut->verdict_sends = dut->verdict_loops = dut->verdict_mirrored = 0;
        if (!inside.empty() && rnd.one_in(4)) {
            if (verdicts.empty()) {
                for (uint64_t k = 0; k <= rnd.below(3); k++) verdicts.push_back(rnd.one_in(3));
            }
            bool loops = verdicts.front(), sends = rnd.below(8) > 0;
            verdicts.pop_front();
            dut->verdict = 1;
            dut->verdict_last = verdicts.empty();
            dut->verdict_sends = sends;
            dut->verdict_loops = sends && loops;
            if (sends) {
                Packet copy = fresh();
                copy.words = inside.front().words;
                dut->verdict_mirrored = copy.meta >> 15;
                leaving.push_back({copy, loops});
            }
            if (verdicts.empty()) inside.pop_front();
        }
        // What leaves the design.
        bool back = !leaving.empty() && !(pressure && rnd.one_in(3));
        static bool shown = false;
        back |= shown;
        dut->back_valid = back;
        if (back) {
            auto& [packet, loops] = leaving.front();
            dut->back_data = packet.words[back_at];
            dut->back_last = back_at + 1 == packet.words.size();
            dut->back_loops = loops;
            dut->back_again = packet.meta;
        }
        dut->out_ready = !(pressure && rnd.one_in(3));
        settle();
        if (back && leaving.front().second) CHECK(dut->back_ready, "the design waits");
        CHECK(bool(dut->out_valid) == (back && !leaving.front().second));
        shown = back && !dut->back_ready;
        if (back && dut->back_ready && ++back_at == leaving.front().first.words.size()) {
            back_at = 0;
            if (leaving.front().second) (mirrored(leaving.front().first) ? mirrors : looping).push_back(leaving.front().first);
            else left++;
            leaving.pop_front();
        }
        if (dut->pass_valid && dut->pass_ready) {
            if (entering.words.empty()) entering.meta = dut->pass_again;
            CHECK(entering.meta == dut->pass_again);
            entering.words.push_back(dut->pass_data);
            bool outside = entering.meta == 0;
            CHECK(bool(dut->in_ready) == outside);
            if (PRIORITY && !outside && !mirrored(entering) && entering.words.size() == 1) {
                CHECK(inside.empty() && mirrors.empty(), "a packet overtakes clones");
                for (auto& [packet, loops] : leaving) CHECK(!loops || !mirrored(packet), "a packet overtakes a clone");
            }
            if (outside && entering.words.size() == 1) {
                CHECK(inside.empty(), "a packet overtakes those of the one before");
                for (auto& [packet, loops] : leaving) CHECK(!loops, "a packet overtakes one that passes again");
                CHECK(drops || (looping.empty() && mirrors.empty()));
                lost += looping.size();
                looping.clear();
            }
            CHECK(dut->pass_now == (outside ? 1000 + entered : 999 + entered), "the time of the packet from outside");
            if (dut->pass_last) {
                if (outside) {
                    CHECK(entering.words == offered.words);
                    offering = false;
                    entered++;
                } else {
                    while (drops && !looping.empty() && looping.front().meta != entering.meta) {
                        looping.pop_front();
                        lost++;
                    }
                    auto& queue = mirrored(entering) ? mirrors : looping;
                    CHECK(!queue.empty());
                    CHECK(queue.front().meta == entering.meta && queue.front().words == entering.words);
                    queue.pop_front();
                    again++;
                }
                inside.push_back(entering);
                entering.words.clear();
            }
            if (outside) offered_at++;
        }
        if (dut->settled) settled++;
        CHECK(settled <= entered && entered <= settled + 1);
        edge();
    }
    CHECK(entered > 500 && again > 300 && left > 500, "%lu packets, %lu again", entered, again);
    CHECK(drops ? lost > 0 : lost == 0, "%lu lost", lost);
    return done();
}

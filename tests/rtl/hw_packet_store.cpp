// config: BUS_BYTES=4 WINDOW_BYTES=8 DEPTH=64 MAX_BYTES=61 PACKETS=4 META_BITS=5 GAP=1
// config: BUS_BYTES=32 WINDOW_BYTES=64 DEPTH=64 MAX_BYTES=1000 PACKETS=64 META_BITS=8 GAP=3
// config: BUS_BYTES=16 WINDOW_BYTES=64 DEPTH=128 MAX_BYTES=400 PACKETS=8 META_BITS=8 GAP=4 ALIGNED=1
// config: BUS_BYTES=64 WINDOW_BYTES=64 DEPTH=128 MAX_BYTES=1600 PACKETS=16 META_BITS=8 GAP=1
// config: BUS_BYTES=16 WINDOW_BYTES=32 DEPTH=128 MAX_BYTES=400 PACKETS=8 META_BITS=8 LATE_BITS=3 GAP=1
// config: BUS_BYTES=16 WINDOW_BYTES=32 DEPTH=128 MAX_BYTES=400 PACKETS=8 META_BITS=8 LATE_BITS=3 GAP=3
#include "bench.h"

#ifndef LATE_BITS
#define LATE_BITS 0
#endif

using Bytes = std::vector<uint8_t>;

struct Packet {
    Bytes bytes;
    uint64_t meta;
    uint64_t left = 0;  // The cycle of its window.
};

int main(int argc, char** argv) {
    start(argc, argv);
    const size_t bus = BUS_BYTES;
    std::deque<Packet> complete, flying;  // Windows not yet seen; seen, and the packet not yet freed.
    std::deque<Bytes> words;              // That must come out; junk behind the end of a packet is cut off.
    Packet packet;
    size_t sent = 0;
    bool offering = false, bad = false, dropping = false, commanding = false;
    uint64_t first = 0, count = 0, dropped = 0, passed = 0, last_window = 0;
    bool freeing = false;
    unsigned rooms = 0;  // For commands, of the last cycles.

    dut->in_valid = 0;
    dut->rd_valid = 0;
    dut->out_ready = 0;
    reset(dut);
    unsigned gaps = 0, pressure = 0, lazy = 0, size = 0;
    for (int i = 0; i < 60000; i++) {
        if (i % 2000 == 0) {
            gaps = static_cast<unsigned>(rnd.below(90));
            pressure = static_cast<unsigned>(rnd.below(90));
            lazy = static_cast<unsigned>(rnd.below(90));
            size = rnd.one_in(2) ? 3 * BUS_BYTES : 2 * MAX_BYTES;
            if (rnd.one_in(3)) gaps = pressure = lazy = 0;
        }
        if (packet.bytes.empty()) {
            packet.bytes.resize(1 + rnd.below(rnd.one_in(8) ? MAX_BYTES + 2 * bus : size));
            for (auto& byte : packet.bytes) byte = static_cast<uint8_t>(rnd.next());
            packet.meta = rnd.below(1 << META_BITS);
            bad = rnd.one_in(10);
            sent = 0;
        }
        // The stream in.
        offering = offering || !rnd.chance(gaps);
        size_t bytes = std::min(bus, packet.bytes.size() - sent);
        bool last = sent + bytes == packet.bytes.size();
        Bits data = Bits::random(8 * BUS_BYTES);
        for (size_t at = 0; at < bytes; at++) data.set_byte(static_cast<int>(at), packet.bytes[sent + at]);
        dut->in_valid = offering;
        put(dut->in_data, data);
        dut->in_bytes = bytes;
        dut->in_last = last;
        dut->in_bad = last ? bad : rnd.one_in(2);
        // Low bits come with the first word, and the highest with the last one.
        const uint64_t late = ((1 << LATE_BITS) - 1) << (META_BITS - LATE_BITS), all = (1 << META_BITS) - 1;
        uint64_t kept = (sent == 0 ? all & ~late : 0) | (last ? late : 0);
        dut->in_meta = (packet.meta & kept) | (rnd.below(1 << META_BITS) & ~kept);
        // A command for the oldest packet.
        if (!commanding && !flying.empty() && cycle >= flying.front().left + 2 && !rnd.chance(lazy)) {
            commanding = true;
            freeing = !rnd.one_in(4);
            uint64_t of = (flying.front().bytes.size() + bus - 1) / bus;
            first = rnd.below(of);
            count = rnd.one_in(8) ? 0 : rnd.one_in(2) ? of - first : 1 + rnd.below(of - first);
        }
        rooms = rooms << 1 | dut->rd_room;
        dut->rd_valid = commanding && rooms & 15;
        dut->rd_first = first;
        dut->rd_words = count;
        dut->rd_free = freeing;
        dut->out_ready = !rnd.chance(pressure);
        settle();

        CHECK(bool(dut->dropped) == dropping);
        dropping = false;
        if (dut->win_valid) {
            CHECK(!complete.empty(), "a window from nowhere");
            auto& p = complete.front();
            CHECK(dut->win_length == p.bytes.size());
            CHECK(dut->win_meta == p.meta);
            auto window = get(dut->win_window).to_bytes(WINDOW_BYTES);
            window.resize(std::min<size_t>(WINDOW_BYTES, p.bytes.size()));
            CHECK(window == Bytes(p.bytes.begin(), p.bytes.begin() + window.size()));
            CHECK(last_window == 0 || cycle - last_window >= GAP);
#ifdef ALIGNED
            CHECK(last_window == 0 || (cycle - last_window) % GAP == 0);
#endif
            last_window = cycle;
            p.left = cycle;
            flying.push_back(p);
            complete.pop_front();
            CHECK(flying.size() <= PACKETS);
        }
        if (dut->out_valid && dut->out_ready) {
            CHECK(!words.empty(), "a word from nowhere");
            auto& want = words.front();
            Bytes word;
            for (size_t at = 0; at < want.size(); at++) word.push_back(get(dut->out_data).byte(static_cast<int>(at)));
            CHECK(word == want);
            words.pop_front();
        }
        if (dut->rd_valid) {
            auto& p = flying.front().bytes;
            for (uint64_t at = first; at < first + count; at++)
                words.emplace_back(p.begin() + at * bus, p.begin() + std::min(p.size(), (at + 1) * bus));
            if (freeing) flying.pop_front();
            passed += freeing;
            commanding = false;
        }
        if (offering && dut->in_ready) {
            offering = false;
            sent += bytes;
            if (last) {
                dropping = bad || packet.bytes.size() > MAX_BYTES;
                dropped += dropping;
                if (!dropping) complete.push_back(packet);
                packet.bytes.clear();
            }
        }
        edge();
        // A store that nothing leaves is never stuck when asked again.
        if (i % 2000 == 1999) {
            CHECK(passed > 0, "no packet since cycle %d", i - 1999);
            passed = 0;
        }
    }
    CHECK(dropped > 10);
    return done();
}

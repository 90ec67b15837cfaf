// config: BUS_BYTES=8 HEADER_BYTES=20 MAX_BYTES=100 META_BITS=4
// config: BUS_BYTES=32 HEADER_BYTES=64 MAX_BYTES=500 META_BITS=9 HEADERS=32
// config: BUS_BYTES=64 HEADER_BYTES=50 MAX_BYTES=1600 META_BITS=9
// config: BUS_BYTES=32 HEADER_BYTES=98 MAX_BYTES=500 META_BITS=9 HEADERS=64 GAP=4
// config: BUS_BYTES=8 HEADER_BYTES=20 MAX_BYTES=100 META_BITS=4 HEADERS=32 GAP=5
#include "bench.h"
#ifndef GAP
#define GAP 1
#endif

using Bytes = std::vector<uint8_t>;

struct Command {
    Bytes header, stored;
    uint64_t skip = 0, length = 0, meta = 0;
    bool free = false;
};

struct Packet {
    Bytes bytes;
    uint64_t meta;
};

int main(int argc, char** argv) {
    start(argc, argv);
    const size_t bus = BUS_BYTES;
    std::deque<Command> asking;   // Taken, and not yet asked of the store.
    std::deque<Bytes> words;      // That the store gives.
    std::deque<Packet> expected;
    std::deque<Command> commands;  // Whose headers are there.
    Bytes received;
    bool offering = false, draining = false, soon = false;
    unsigned rooms = 0;  // The store's, of the last cycles.
    int next_header = 0;

    dut->header_soon = dut->header_valid = 0;
    dut->in_valid = 0;
    dut->rd_room = 0;
    dut->words_valid = 0;
    dut->out_ready = 0;
    reset(dut);
    unsigned pause = 0, slow = 0, gaps = 0, pressure = 0, size = 0;
    uint64_t sent_words = 0, began = 0;
    for (int i = 0; i < 80000; i++) {
        if (i % 2000 == 0) {
            pause = static_cast<unsigned>(rnd.below(100));
            slow = static_cast<unsigned>(rnd.below(100));
            gaps = static_cast<unsigned>(rnd.below(100));
            pressure = static_cast<unsigned>(rnd.below(100));
            size = rnd.one_in(2) ? 3 * BUS_BYTES : MAX_BYTES;
            if (rnd.one_in(3)) pause = slow = gaps = pressure = 0;
            draining = true;
        }
        if (draining && expected.empty() && asking.empty() && commands.empty()) {
            draining = false;
            sent_words = 0;
            began = cycle;
        }
        Command command;
        if (!commands.empty()) command = commands.front();
        dut->in_valid = !commands.empty();
        dut->in_header_bytes = command.header.size();
        dut->in_skip = command.skip;
        dut->in_length = command.length;
        dut->in_free = command.free;
        dut->in_meta = command.meta;
        dut->header_valid = 0;
        dut->header_bytes = 0;
        put(dut->header, Bits::random(8 * HEADER_BYTES));
        // What was said a cycle before need not come.
        bool comes = soon && commands.size() < 2 && !draining;
        if (comes) next_header = i + GAP;
        dut->header_soon = soon = i + 1 >= next_header && !rnd.chance(pause);
        if (comes) {
            Command next;
            next.header.resize(rnd.one_in(4) ? 0 : rnd.below(HEADER_BYTES + 1));
            next.stored.resize(1 + rnd.below(std::min<uint64_t>(size, MAX_BYTES)));
            for (auto& byte : next.header) byte = static_cast<uint8_t>(rnd.next());
            for (auto& byte : next.stored) byte = static_cast<uint8_t>(rnd.next());
            next.skip = rnd.below(next.stored.size());
            next.length = next.stored.size() - next.skip;
            if (rnd.one_in(3)) next.length = rnd.below(next.length + 1);
            if (rnd.one_in(20)) next.length = next.skip = 0, next.header.clear();
            next.meta = rnd.below(1 << META_BITS);
            next.free = rnd.one_in(2);
            dut->header_valid = !next.header.empty() || next.length;
            dut->header_bytes = next.header.size();
            auto header = next.header;
            header.resize(HEADER_BYTES, static_cast<uint8_t>(rnd.next()));
            put(dut->header, Bits::of_bytes(header));
            commands.push_back(next);
        }
        dut->rd_room = !rnd.chance(slow);
        rooms = rooms << 1 | dut->rd_room;
        offering = !words.empty() && (offering || !rnd.chance(gaps));
        dut->words_valid = offering;
        Bits data = Bits::random(8 * BUS_BYTES);
        if (offering)
            for (size_t at = 0; at < words.front().size(); at++) data.set_byte(static_cast<int>(at), words.front()[at]);
        put(dut->words_data, data);
        dut->out_ready = !rnd.chance(pressure);
        settle();

        if (dut->out_valid && dut->out_ready) {
            CHECK(!expected.empty(), "a word from nowhere");
            auto& want = expected.front();
            CHECK(dut->out_bytes >= 1 && dut->out_bytes <= bus);
            CHECK(dut->out_last || dut->out_bytes == bus);
            CHECK(dut->out_meta == want.meta);
            for (int at = 0; at < dut->out_bytes; at++) received.push_back(get(dut->out_data).byte(at));
            CHECK(received.size() <= want.bytes.size());
            CHECK(Bytes(want.bytes.begin(), want.bytes.begin() + received.size()) == received, "%zu of %zu bytes",
                  received.size(), want.bytes.size());
            CHECK(bool(dut->out_last) == (received.size() == want.bytes.size()));
            if (dut->out_last) {
                received.clear();
                expected.pop_front();
            }
        }
        if (dut->words_valid && dut->words_ready) {
            words.pop_front();
            offering = false;
        }
        if (dut->rd_valid) {
            CHECK(rooms & 15, "a command without room");
            CHECK(!asking.empty(), "a command from nowhere");
            auto& c = asking.front();
            CHECK(bool(dut->rd_free) == c.free);
            uint64_t count = c.length ? (c.skip % bus + c.length + bus - 1) / bus : 0;
            CHECK(dut->rd_words == count);
            if (count) CHECK(dut->rd_first == c.skip / bus);
            for (uint64_t at = c.skip / bus; at < c.skip / bus + count; at++)
                words.emplace_back(c.stored.begin() + at * bus,
                                   c.stored.begin() + std::min<uint64_t>(c.stored.size(), (at + 1) * bus));
            asking.pop_front();
        }
        if (dut->in_valid && dut->in_ready) {
            commands.pop_front();
            asking.push_back(command);
            Packet packet{command.header, command.meta};
            packet.bytes.insert(packet.bytes.end(), command.stored.begin() + command.skip,
                                command.stored.begin() + command.skip + command.length);
            uint64_t out = (packet.bytes.size() + bus - 1) / bus;
            bool step_before = command.length && command.header.size() < command.skip % bus;
            sent_words += std::max(out + step_before, uint64_t{1});
            if (!packet.bytes.empty()) expected.push_back(packet);
        }
        edge();
        // Without pauses every cycle sends a word, or takes the one that has to be there before the first.
        if (GAP == 1 && i % 2000 == 1999 && pause + slow + gaps + pressure == 0)
            CHECK(sent_words + 40 >= cycle - began, "%llu words in %llu cycles",
                  (unsigned long long)sent_words, (unsigned long long)(cycle - began));
    }
    return done();
}

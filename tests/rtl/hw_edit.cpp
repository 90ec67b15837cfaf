// config: BUS_BYTES=4 OFFSET_BITS=7 PACKETS=4 EDITS=1 SIZES=3
// config: BUS_BYTES=32 OFFSET_BITS=10 PACKETS=64 EDITS=2 SIZES=2050
// config: BUS_BYTES=64 OFFSET_BITS=10 PACKETS=16 EDITS=3 SIZES=1050626
#include "bench.h"

using Bytes = std::vector<uint8_t>;

struct Packet {
    uint64_t written;  // When its edits were.
    Bytes before, after;
};

int main(int argc, char** argv) {
    start(argc, argv);
    const int bus = BUS_BYTES, longest = (1 << OFFSET_BITS) - 20;
    std::deque<Packet> waiting;
    std::deque<Bits> words(3);  // What is to be put on `in_word`.
    Expected<Bits> expected(5);
    int index = 0;
    std::deque<bool> popped(2);  // In the two cycles before: those edits have not left yet.
    dut->in_valid = 0;
    dut->step_valid = 0;
    dut->step_pop = 0;
    reset(dut);
    for (int i = 0; i < 20000; i++) {
        // Edits of another packet.
        dut->in_valid = waiting.size() + popped[0] + popped[1] < PACKETS && rnd.chance(40);
        if (dut->in_valid) {
            Packet packet{cycle, Bytes(rnd.below(longest)), {}};
            if (rnd.one_in(8)) packet.before.clear();
            for (auto& byte : packet.before) byte = static_cast<uint8_t>(rnd.next());
            packet.after = packet.before;
            Bits offsets, data;
            uint64_t enable = 0;
            for (int e = 0, bit = 0; e < EDITS; e++) {
                int size = SIZES >> 8 * e & 255;
                Bits bytes = Bits::random(8 * size);
                data.place(bit, 8 * size, bytes);
                bit += 8 * size;
                // Each edit in its own part of the packet.
                int part = static_cast<int>(packet.before.size()) / EDITS;
                bool on = part >= size && !rnd.one_in(4);
                int at = on ? e * part + static_cast<int>(rnd.below(part - size + 1)) : static_cast<int>(rnd.below(longest));
                offsets.place(e * OFFSET_BITS, OFFSET_BITS, at);
                enable |= uint64_t{on} << e;
                for (int b = 0; on && b < size; b++) packet.after[at + b] = bytes.byte(size - 1 - b);
            }
            dut->in_enable = enable;
            put(dut->in_offset, offsets);
            put(dut->in_data, data);
            waiting.push_back(packet);
        }
        // A step of the oldest packet.
        dut->step_valid = 0;
        dut->step_pop = 0;
        std::unique_ptr<Bits> leaving;
        Bits word = Bits::random(8 * bus);
        if (!waiting.empty() && cycle >= waiting.front().written + 3 && !rnd.one_in(3)) {
            auto& packet = waiting.front();
            int count = (static_cast<int>(packet.before.size()) + bus - 1) / bus;
            dut->step_valid = count > 0;
            dut->step_index = index;
            dut->step_pop = index + 1 >= count;
            if (count) {
                leaving = std::make_unique<Bits>(word);
                for (int b = 0; b < bus && index * bus + b < static_cast<int>(packet.before.size()); b++) {
                    word.set_byte(b, packet.before[index * bus + b]);
                    leaving->set_byte(b, packet.after[index * bus + b]);
                }
            }
            index++;
            if (dut->step_pop) waiting.pop_front(), index = 0;
        }
        popped.push_back(dut->step_pop);
        popped.pop_front();
        words.push_back(word);
        put(dut->in_word, words[words.size() - 3]);
        words.pop_front();
        settle();
        auto out = expected.step(std::move(leaving));
        if (out) CHECK(get(dut->out_word) == *out);
        edge();
    }
    return done();
}

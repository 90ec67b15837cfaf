// Runs a verilated design. Commands come on standard input, answers leave on standard output; both are bytes, numbers lowest
// byte first (u16, u32, u64):
//
//   'p' port u16, time u64, length u32, bytes   a packet, which waits for its turn
//   'w' address u32, data u32                   a write to the register bus, beside whatever packets are under way
//   'i' address u32                             reads the register bus until the word is zero, beside packets
//   'b' address u32                             reads the register bus: u32
//   'r' address u32, first u32, count u32, words u32   when all packets are through, reads cells of an object: words × u32 each
//   's'                                         when all packets are through: for each since the last 's', for each of its copies
//                                               that are sent 1, port u16, length u32, bytes, and then 0; at the end 2, the
//                                               cycles so far, u64, and the six fields of Timing since the last 's', u64 each
//
// The argument is the seed of initial values, gaps and back-pressure; without it there are neither gaps nor back-pressure. MAX_BYTES
// is the length of the longest packet.

#include "harness.h"

// What cannot be read or written any more ends the simulation: the other side is gone.
static void take(void *to, size_t count) {
    if (count && std::fread(to, 1, count, stdin) != count) std::exit(0);
}

template <typename T> static T number() {
    T value;
    take(&value, sizeof value);
    return value;
}

template <typename T> static void give(T value) {
    if (std::fwrite(&value, 1, sizeof value, stdout) != sizeof value) std::exit(0);
}

int main(int argc, char **argv) {
    start(argc > 1 ? argv[1] : nullptr);
    for (;;) {
        switch (number<uint8_t>()) {
        case 'p': {
            Packet packet;
            packet.port = number<uint16_t>();
            packet.now = number<uint64_t>();
            packet.bytes.resize(number<uint32_t>());
            take(packet.bytes.data(), packet.bytes.size());
            // The store drops what is longer before it has a verdict.
            if (packet.bytes.empty() || packet.bytes.size() > MAX_BYTES) return 1;
            waiting.push_back(std::move(packet));
            break;
        }
        case 'w': {
            auto address = number<uint32_t>();
            bus_write(address, number<uint32_t>());
            break;
        }
        case 'i': {
            auto address = number<uint32_t>();
            while (bus_read(address) & 1) {
            }
            break;
        }
        case 'b':
            give(bus_read(number<uint32_t>()));
            std::fflush(stdout);
            break;
        case 'r': {
            auto address = number<uint32_t>(), first = number<uint32_t>(), count = number<uint32_t>();
            auto words = number<uint32_t>();
            settle();
            // Counters need some cycles behind the verdict.
            for (int i = 0; i < 16; i++) cycle();
            for (uint32_t index = first; index < first + count; index++) {
                bus_write(address, index);
                while (bus_read(address) & 1) {
                }
                for (uint32_t i = 0; i < words; i++) give(bus_read(4 * i));
            }
            std::fflush(stdout);
            break;
        }
        case 's':
            settle();
            for (auto [sends, last] : verdicts) {
                if (sends) {
                    const Packet &packet = done.front();
                    give(uint8_t(1));
                    give(uint16_t(packet.port));
                    give(uint32_t(packet.bytes.size()));
                    std::fwrite(packet.bytes.data(), 1, packet.bytes.size(), stdout);
                    done.pop_front();
                }
                if (last) give(uint8_t(0));
            }
            verdicts.clear();
            give(uint8_t(2));
            give(cycles);
            give(timing);
            timing = {};
            first_in = first_out = 0;
            std::fflush(stdout);
            break;
        default:
            return 1;
        }
    }
}

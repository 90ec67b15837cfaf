// Runs a board in simulation, from GMII to GMII. Arguments, P is the number of a port:
//
//   --in P=FILE       frames of a capture (pcap) enter by the port, back to back
//   --out P=FILE      frames that leave by the port go to a capture
//   --tap P=NAME      the port is connected to a TAP device, which is made if there is none
//   --control UDPPORT datagrams to this port of 127.0.0.1 enter as if they had been sent to the board's Etherbone port, and its answers
//                     are sent back; may be 0, any port. The line `control PORT` on standard output says which
//   --frames          frames come on standard input: 'p', the port (u16), the length (u32), bytes, numbers lowest byte first; with 'r' they are
//                     all bytes of the line, from preamble to check sequence. After an 's', when nothing happens any more, those that have left follow on standard output: 1, port, length and bytes of each, and 0
//   --waves FILE      writes waveforms (FST), if the simulation has been built with them
//
// With captures only it ends when they have been sent and nothing has happened for some time; otherwise it ends with its standard input. What leaves is checked: preamble, length, check sequence and gap. Anything wrong is an error, and the exit status is 1.

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vboard.h"
#include "pcap.h"
#include "verilated.h"
#ifdef WAVES
#include "verilated_fst_c.h"
#endif

// Clocks, in picoseconds.
constexpr uint64_t BYTE_TIME = 8000;
constexpr uint64_t IDLE_TIME = 100'000'000;  // Nothing has happened for so long: it is over.

static uint32_t crc32(const uint8_t *data, size_t length) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < length; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
    }
    return ~crc;
}

static int open_tap(const std::string &name) {
    int tap = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strncpy(request.ifr_name, name.c_str(), IFNAMSIZ - 1);
    if (tap < 0 || ioctl(tap, TUNSETIFF, &request) < 0) fail("TAP device " + name + ": " + std::strerror(errno));
    return tap;
}

static uint64_t now;  // Picoseconds.
static uint64_t busy; // When something last happened.

// Datagrams of a socket as frames to and from the board's control.
struct ControlSocket {
    int fd = -1;
    sockaddr_in peer{};

    void open(int port) {
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        sockaddr_in own{};
        own.sin_family = AF_INET;
        own.sin_port = htons(port);
        own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof own;
        if (fd < 0 || bind(fd, reinterpret_cast<sockaddr *>(&own), size) < 0 ||
            getsockname(fd, reinterpret_cast<sockaddr *>(&own), &size) < 0)
            fail(std::string("control: ") + std::strerror(errno));
        std::printf("control %d\n", ntohs(own.sin_port));
        std::fflush(stdout);
    }

    bool take(Bytes &frame) {
        uint8_t data[2048];
        socklen_t size = sizeof peer;
        ssize_t length = recvfrom(fd, data, sizeof data, 0, reinterpret_cast<sockaddr *>(&peer), &size);
        if (length < 0) return false;
        uint32_t source = 0xc0a80101, to = BOARD_IP;
        uint64_t mac = BOARD_MAC;
        frame.assign(42 + length, 0);
        for (int i = 0; i < 6; i++) frame[i] = mac >> (40 - 8 * i);
        const uint8_t own[6] = {2, 0, 0, 0, 0, 1};
        std::memcpy(&frame[6], own, 6);
        auto put16 = [&](size_t at, unsigned value) { frame[at] = value >> 8, frame[at + 1] = value; };
        put16(12, 0x0800), put16(14, 0x4500), put16(16, 28 + length), put16(22, 64 << 8 | 17);
        put16(26, source >> 16), put16(28, source), put16(30, to >> 16), put16(32, to);
        put16(34, ntohs(peer.sin_port)), put16(36, 1234), put16(38, 8 + length);
        std::memcpy(&frame[42], data, length);
        return true;
    }

    // Whether a frame was an answer.
    bool give(const Bytes &frame) {
        if (fd < 0 || frame.size() < 42 || frame[12] != 8 || frame[13] != 0 || frame[23] != 17 || frame[34] << 8 != (1234 & 0xff00) ||
            frame[35] != (1234 & 0xff))
            return false;
        uint32_t sum = 0;
        for (int i = 14; i < 34; i += 2) sum += frame[i] << 8 | frame[i + 1];
        if ((sum & 0xffff) + (sum >> 16) != 0xffff) fail("an answer of the control has a wrong IP checksum");
        size_t length = (frame[38] << 8 | frame[39]) - 8;
        if (42 + length > frame.size()) fail("an answer of the control is shorter than it says");
        sendto(fd, &frame[42], length, 0, reinterpret_cast<const sockaddr *>(&peer), sizeof peer);
        return true;
    }
};
static ControlSocket control;

static bool framed;  // Frames come on the standard input.
static std::vector<std::pair<uint16_t, Bytes>> left;

struct Port {
    unsigned number = 0;
    std::deque<Bytes> waiting;  // Frames that are to enter, as the line has them.
    FILE *out = nullptr;
    int tap = -1;
    uint64_t frames_in = 0, frames_out = 0;

    // What enters: preamble, frame, check sequence, gap.
    Bytes line;
    size_t at = 0;
    uint8_t rxd = 0;
    bool rx_dv = false;

    // What leaves.
    Bytes coming;
    bool before = false;
    unsigned gap = 100;

    // A frame without preamble and check sequence is to enter.
    void enter(Bytes frame) {
        if (frame.size() < 60) frame.resize(60);
        uint32_t crc = crc32(frame.data(), frame.size());
        for (int i = 0; i < 4; i++) frame.push_back(crc >> 8 * i);
        const uint8_t preamble[8] = {0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0x55, 0xd5};
        frame.insert(frame.begin(), preamble, preamble + 8);
        waiting.push_back(std::move(frame));
    }

    void source() {
        if (at == line.size() + 12 || line.empty()) {
            line.clear();
            at = 0;
            if (!waiting.empty()) {
                line = std::move(waiting.front());
                waiting.pop_front();
                frames_in++;
            }
        }
        rx_dv = at < line.size();
        rxd = rx_dv ? line[at] : 0;
        if (!line.empty()) {
            at++;
            busy = now;
        }
    }

    void sink(bool tx_en, uint8_t txd) {
        if (tx_en) {
            if (!before && gap < 12) fail("port " + std::to_string(number) + ": a gap of " + std::to_string(gap) + " bytes");
            coming.push_back(txd);
            busy = now;
        } else {
            if (before) finish();
            gap = before ? 1 : gap + (gap < 100);
        }
        before = tx_en;
    }

    void finish() {
        std::string where = "port " + std::to_string(number) + ": ";
        for (size_t i = 0; i < 8; i++)
            if (coming.size() < 72 || coming[i] != (i == 7 ? 0xd5 : 0x55)) fail(where + "a frame without preamble, or shorter than 64 bytes");
        Bytes frame(coming.begin() + 8, coming.end() - 4);
        uint32_t crc = 0;
        for (int i = 0; i < 4; i++) crc |= uint32_t(coming[coming.size() - 4 + i]) << 8 * i;
        if (crc != crc32(frame.data(), frame.size())) fail(where + "a frame with a wrong check sequence");
        coming.clear();
        frames_out++;
        if (number == BOARD_CONTROL && control.give(frame)) return;
        if (framed) left.emplace_back(number, frame);
        if (tap >= 0) (void)!write(tap, frame.data(), frame.size());
        if (out) write_pcap(out, frame, now / 1000);
    }
};
static Port ports[PORTS];
static bool settling;  // Frames are to be returned when nothing happens any more.

// Takes a command off the standard input; false at its end.
static bool read_input() {
    auto take = [](void *to, size_t count) { return std::fread(to, 1, count, stdin) == count; };
    char command;
    if (!framed) return read(0, &command, 1) > 0;
    uint16_t port;
    uint32_t length;
    for (;;) {
        if (!take(&command, 1)) return false;
        if (command == 's') break;
        if ((command != 'p' && command != 'r') || !take(&port, 2) || !take(&length, 4) || port >= PORTS || length > 65535) fail("a command is wrong");
        Bytes frame(length);
        if (!take(frame.data(), length)) return false;
        if (command == 'p') ports[port].enter(std::move(frame));
        else ports[port].waiting.push_back(std::move(frame));
    }
    settling = true;
    busy = now;
    return true;
}

// Returns the frames that have left.
static void give_frames() {
    auto give = [](const void *from, size_t count) { std::fwrite(from, 1, count, stdout); };
    for (const auto &[port, frame] : left) {
        uint32_t length = frame.size();
        give("\1", 1), give(&port, 2), give(&length, 4), give(frame.data(), length);
    }
    give("", 1);
    std::fflush(stdout);
    left.clear();
    settling = false;
}

// Takes what comes from outside; waits for it if nothing else happens.
static bool outside(bool idle) {
    std::vector<pollfd> waits = {{0, POLLIN, 0}};
    for (Port &port : ports)
        if (port.tap >= 0) waits.push_back({port.tap, POLLIN, 0});
    if (control.fd >= 0) waits.push_back({control.fd, POLLIN, 0});
    if (poll(waits.data(), waits.size(), idle ? -1 : 0) <= 0) return true;
    Bytes frame;
    for (Port &port : ports) {
        frame.resize(2048);
        if (port.tap < 0) continue;
        ssize_t length = read(port.tap, frame.data(), frame.size());
        if (length <= 0) continue;
        frame.resize(length);
        port.enter(frame);
        busy = now;
    }
    if (control.fd >= 0 && control.take(frame)) {
        ports[BOARD_CONTROL].enter(frame);
        busy = now;
    }
    return !waits[0].revents || read_input();
}

static std::string waves;

static bool arguments(int argc, char **argv) {
    bool lives = false;
    for (int i = 1; i < argc; i++) {
        std::string option = argv[i];
        if (option == "--frames") {
            framed = lives = true;
            continue;
        }
        if (i + 1 == argc) fail(option + ": an argument is missing");
        std::string value = argv[++i];
        if (option == "--waves") {
            waves = value;
            continue;
        }
        if (option == "--control") {
            control.open(std::atoi(value.c_str()));
            lives = true;
            continue;
        }
        size_t equals = value.find('=');
        bool digits = equals != std::string::npos && equals > 0 && value.find_first_not_of("0123456789") == equals;
        unsigned long number = digits ? std::strtoul(value.c_str(), nullptr, 10) : PORTS;
        if (number >= PORTS) fail(option + " " + value + ": expected P=…, with P less than " + std::to_string(PORTS));
        std::string name = value.substr(equals + 1);
        if (option == "--in") {
            for (Bytes &frame : read_pcap(name)) ports[number].enter(std::move(frame));
        } else if (option == "--out") {
            ports[number].out = open_pcap(name);
        } else if (option == "--tap") {
            ports[number].tap = open_tap(name);
            lives = true;
        } else {
            fail("unknown option " + option);
        }
    }
    return lives;
}

int main(int argc, char **argv) {
    for (unsigned p = 0; p < PORTS; p++) ports[p].number = p;
    bool lives = arguments(argc, argv);
    auto dut = std::make_unique<Vboard>();
#ifdef WAVES
    VerilatedFstC trace;
    if (!waves.empty()) {
        Verilated::traceEverOn(true);
        dut->trace(&trace, 99);
        trace.open(waves.c_str());
    }
#endif
    // Half periods; those of the ports differ a little from the board's own, as oscillators do.
    const uint64_t half_core = CORE_PERIOD_PS / 2, half_byte = BYTE_TIME / 2;
    uint64_t next_core = 0, next_tx = 1100, next_rx[PORTS];
    for (unsigned p = 0; p < PORTS; p++) next_rx[p] = 300 + 1700 * p;
    auto *rxd = reinterpret_cast<uint8_t *>(&dut->rxd);
    auto *txd = reinterpret_cast<uint8_t *>(&dut->txd);
    dut->rst = 1;
    dut->rx_dv = dut->rx_er = 0;
    for (uint64_t polls = 0;; polls++) {
        now = next_core < next_tx ? next_core : next_tx;
        for (uint64_t next : next_rx) now = next < now ? next : now;
        if (now == next_core) {
            dut->clk = !dut->clk;
            next_core += half_core;
            if (now > 2'000'000) dut->rst = 0;
        }
        bool sends = false;
        if (now == next_tx) {
            dut->tx_clk = !dut->tx_clk;
            sends = dut->tx_clk;
            next_tx += half_byte;
        }
        if (sends)
            for (unsigned p = 0; p < PORTS; p++) ports[p].sink(dut->tx_en >> p & 1, txd[p]);
        for (unsigned p = 0; p < PORTS; p++) {
            if (now != next_rx[p]) continue;
            dut->rx_clk ^= 1u << p;
            next_rx[p] += half_byte - (p + 1) % 2 * (polls % 4096 == 0);
            // Data change with the falling edge.
            if (dut->rx_clk >> p & 1 || now < 4'000'000) continue;
            ports[p].source();
            rxd[p] = ports[p].rxd;
            if (ports[p].rx_dv) dut->rx_dv |= 1u << p;
            else dut->rx_dv &= ~(1u << p);
        }
        dut->eval();
#ifdef WAVES
        if (!waves.empty()) trace.dump(now);
#endif
        bool idle = now > busy + IDLE_TIME;
        if (idle && settling) give_frames();
        if (lives ? (idle || polls % 512 == 0) && !outside(idle) : idle) break;
        if (lives && idle) busy = now;
    }
#ifdef WAVES
    if (!waves.empty()) trace.close();
#endif
    dut->final();
    for (Port &port : ports) {
        if (port.out) std::fclose(port.out);
        std::fprintf(stderr, "port %u: %llu frames in, %llu out\n", port.number, (unsigned long long)port.frames_in,
                     (unsigned long long)port.frames_out);
    }
}

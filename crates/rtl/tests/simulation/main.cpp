// Runs a verilated design. Commands on standard input, a line each:
//   b ADDRESS DATA         writes to the register bus
//   r ADDRESS INDEX WORDS  reads a cell of an object; prints `a` and the words, lowest first
//   p PORT BYTES           sends a packet
// Each packet that leaves is printed as `o PORT BYTES`. Numbers are hexadecimal. The argument is the seed of gaps and
// back-pressure; without it there are none.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "Vdut.h"
#include "verilated.h"

static Vdut *dut;
static std::mt19937 rng;
static bool stress;

struct Packet {
    unsigned port;
    std::vector<uint8_t> bytes;
};
static std::deque<Packet> waiting;
static size_t sent;  // Bytes of the first of them.
static bool offering;
static std::vector<uint8_t> coming;
static unsigned idle;

constexpr size_t BUS = sizeof(dut->in_data);

static uint8_t *bytes_of(void *wide) { return static_cast<uint8_t *>(wide); }

// A cycle: inputs, then the clock.
static void cycle() {
    if (!offering && !waiting.empty() && !(stress && rng() % 3 == 0)) offering = true;
    dut->in_valid = offering;
    if (offering) {
        const Packet &packet = waiting.front();
        size_t left = packet.bytes.size() - sent, count = left < BUS ? left : BUS;
        uint8_t *word = bytes_of(&dut->in_data);
        for (size_t i = 0; i < BUS; i++) word[i] = i < count ? packet.bytes[sent + i] : uint8_t(rng());
        dut->in_bytes = count;
        dut->in_last = left <= BUS;
        dut->in_port = packet.port;
    }
    dut->out_ready = !(stress && rng() % 3 == 0);
    dut->clk = 0;
    dut->eval();
    idle++;
    if (dut->in_valid && dut->in_ready) {
        idle = 0;
        sent += dut->in_bytes;
        offering = false;
        if (dut->in_last) {
            waiting.pop_front();
            sent = 0;
        }
    }
    if (dut->out_valid && dut->out_ready) {
        idle = 0;
        const uint8_t *word = bytes_of(&dut->out_data);
        coming.insert(coming.end(), word, word + dut->out_bytes);
        if (dut->out_last) {
            std::printf("o %x ", unsigned(dut->out_port));
            for (uint8_t byte : coming) std::printf("%02x", byte);
            std::printf("\n");
            coming.clear();
        }
    }
    dut->clk = 1;
    dut->eval();
}

// Until nothing moves.
static void flush() {
    idle = 0;
    while (!waiting.empty() || idle < 600) cycle();
}

static void bus_write(unsigned address, uint32_t data) {
    dut->bus_wr_en = 1;
    dut->bus_wr_addr = address;
    dut->bus_wr_data = data;
    cycle();
    dut->bus_wr_en = 0;
}

static uint32_t bus_read(unsigned address) {
    dut->bus_rd_en = 1;
    dut->bus_rd_addr = address;
    do cycle();
    while (!dut->bus_rd_valid);
    uint32_t data = dut->bus_rd_data;
    dut->bus_rd_en = 0;
    cycle();
    return data;
}

int main(int argc, char **argv) {
    Verilated::commandArgs(argc, argv);
    stress = argc > 1;
    rng.seed(stress ? std::strtoul(argv[1], nullptr, 10) : 0);
    dut = new Vdut;
    dut->rst = 1;
    for (int i = 0; i < 8; i++) cycle();
    dut->rst = 0;
    for (int i = 0; i < 8; i++) cycle();
    std::string line;
    while (std::getline(std::cin, line)) {
        std::istringstream words(line);
        std::string what, text;
        unsigned a, b, c;
        words >> what >> std::hex;
        if (what == "p") {
            words >> a >> text;
            Packet packet{a, {}};
            for (size_t i = 0; i + 1 < text.size(); i += 2)
                packet.bytes.push_back(std::strtoul(text.substr(i, 2).c_str(), nullptr, 16));
            waiting.push_back(packet);
        } else if (what == "b") {
            words >> a >> b;
            if (!waiting.empty() || idle < 600) flush();
            bus_write(a, b);
        } else if (what == "r") {
            words >> a >> b >> c;
            flush();
            bus_write(a, b);
            while (bus_read(a) & 1) {
            }
            std::printf("a");
            for (unsigned i = 0; i < c; i++) std::printf(" %x", bus_read(4 * i));
            std::printf("\n");
        }
    }
    flush();
    dut->final();
    delete dut;
    return 0;
}

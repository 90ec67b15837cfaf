// What runs a verilated design: packets that enter and leave, and its register bus. With WAVES, waveforms (VCD) can be written.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "Vdut.h"
#include "verilated.h"
#ifdef WAVES
#include "verilated_vcd_c.h"
static VerilatedVcdC *waves;
#endif

static Vdut *dut;
static std::mt19937 rng;
static bool stress;
static uint64_t cycles;
static uint64_t ticks;  // Cycles with those of the reset.

struct Packet {
    unsigned port;
    uint64_t now;
    std::vector<uint8_t> bytes;
};
static std::deque<Packet> waiting;
static size_t sent;  // Bytes of the first of them.
static bool offering;
static uint64_t entered, decided, forwarded;  // Packets that are in, have their verdicts; copies that are to be sent.
struct Verdict {
    bool sends, last;  // Whether the copy is sent; whether it is the last of its packet.
};
static std::vector<Verdict> verdicts;
static std::deque<Packet> done;
static std::vector<uint8_t> coming;
static uint64_t left;  // Copies that have been sent.

// What packets take, in cycles.
struct Timing {
    uint64_t entering;           // From the first word in to the last word in.
    uint64_t leaving;            // From the first word out to the last word out.
    uint64_t waiting;            // Words had to wait at the entrance.
    uint64_t dropped;            // Packets that were dropped there.
    uint64_t shortest, longest;  // From a packet's last word in to its first word out.
};
static Timing timing;
static uint64_t first_in, first_out;       // When these were, plus one; 0: not yet.
static std::deque<uint64_t> ends, sending; // When the last words of packets came, of those without and with a verdict.

constexpr size_t BUS = sizeof(dut->in_data);

static uint8_t *bytes_of(void *wide) { return static_cast<uint8_t *>(wide); }

// A cycle: inputs, then the clock.
static void cycle() {
    if (!offering && !waiting.empty() && !(stress && rng() % 3 == 0)) offering = true;
    dut->in_valid = offering;
    if (offering) {
        const Packet &packet = waiting.front();
        size_t rest = packet.bytes.size() - sent, count = rest < BUS ? rest : BUS;
        uint8_t *word = bytes_of(&dut->in_data);
        std::memcpy(word, packet.bytes.data() + sent, count);
        for (size_t i = count; i < BUS; i++) word[i] = stress ? uint8_t(rng()) : 0;
        dut->in_bytes = count;
        dut->in_last = rest <= BUS;
        dut->in_port = packet.port;
        dut->in_now = packet.now & 0xffffffffffff;
    }
    dut->out_ready = !(stress && rng() % 3 == 0);
    dut->clk = 0;
    dut->eval();
    if (dut->in_valid && !first_in) first_in = cycles + 1;
    if (dut->in_valid && !dut->in_ready) timing.waiting++;
    if (dut->in_dropped) timing.dropped++;
    if (dut->in_valid && dut->in_ready) {
        sent += dut->in_bytes;
        offering = false;
        timing.entering = cycles + 2 - first_in;
        if (dut->in_last) {
            waiting.pop_front();
            sent = 0;
            entered++;
            ends.push_back(cycles);
        }
    }
    if (dut->verdict) {
        decided += dut->verdict_last;
        verdicts.push_back({bool(dut->verdict_sends), bool(dut->verdict_last)});
        if (dut->verdict_sends) {
            forwarded++;
            if (!ends.empty()) sending.push_back(ends.front());
        }
        if (dut->verdict_last && !ends.empty()) ends.pop_front();
    }
    if (dut->out_valid && dut->out_ready) {
        if (!first_out) first_out = cycles + 1;
        timing.leaving = cycles + 2 - first_out;
        if (coming.empty() && !sending.empty()) {
            uint64_t latency = cycles - sending.front();
            sending.pop_front();
            if (!timing.shortest || latency < timing.shortest) timing.shortest = latency;
            if (latency > timing.longest) timing.longest = latency;
        }
        const uint8_t *word = bytes_of(&dut->out_data);
        coming.insert(coming.end(), word, word + dut->out_bytes);
        if (dut->out_last) {
            done.push_back({unsigned(dut->out_port), 0, std::move(coming)});
            coming.clear();
            left++;
        }
    }
#ifdef WAVES
    if (waves) waves->dump(10 * ticks);
#endif
    dut->clk = 1;
    dut->eval();
#ifdef WAVES
    if (waves) waves->dump(10 * ticks + 5);
#endif
    ticks++;
    cycles++;
}

static void settle() {
    while (!waiting.empty() || decided < entered || left < forwarded) cycle();
}

static void bus_write(unsigned address, uint32_t data) {
    dut->bus_wr_en = 1;
    dut->bus_wr_addr = address;
    dut->bus_wr_data = data;
    bool ready;
    do {
        dut->eval();
        ready = dut->bus_wr_ready;
        cycle();
    } while (!ready);
    dut->bus_wr_en = 0;
    dut->bus_wr_addr = ~address;
    dut->bus_wr_data = ~data;
    // A write to a memory has taken effect when the bus is ready again.
    for (dut->eval(); !dut->bus_wr_ready; dut->eval()) cycle();
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

// Creates the design and resets it. With a seed, what has no reset begins with random values, and there are random gaps and back-pressure.
static void start(const char *seed_text, [[maybe_unused]] const char *waves_file = nullptr) {
    stress = seed_text;
    unsigned long seed = stress ? std::strtoul(seed_text, nullptr, 10) : 0;
    rng.seed(seed);
    Verilated::randReset(stress ? 2 : 0);
    Verilated::randSeed(static_cast<int>(seed));
#ifdef WAVES
    Verilated::traceEverOn(true);
#endif
    dut = new Vdut;
#ifdef WAVES
    if (waves_file) {
        waves = new VerilatedVcdC;
        dut->trace(waves, 99);
        waves->open(waves_file);
    }
#endif
    // Inputs, too, are random at first.
    dut->in_bad = dut->bus_wr_en = dut->bus_rd_en = 0;
    dut->rst = 1;
    for (int i = 0; i < 8; i++) cycle();
    dut->rst = 0;
    for (int i = 0; i < 8; i++) cycle();
    // What left before the reset took effect is nothing.
    coming.clear();
    done.clear();
    verdicts.clear();
    entered = decided = forwarded = left = cycles = 0;
    ends.clear();
    sending.clear();
    timing = {};
    first_in = first_out = 0;
}

// Captures of Ethernet frames in the classic format of pcap.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

using Bytes = std::vector<uint8_t>;

[[noreturn]] static void fail(const std::string &what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

// A capture: classic pcap, microseconds or nanoseconds, of either byte order.
static std::vector<Bytes> read_pcap(const std::string &path) {
    FILE *file = std::fopen(path.c_str(), "rb");
    if (!file) fail(path + ": " + std::strerror(errno));
    uint32_t head[6];
    if (std::fread(head, 4, 6, file) != 6) fail(path + ": not a capture");
    bool swap = head[0] == 0xd4c3b2a1 || head[0] == 0x4d3cb2a1;
    if (!swap && head[0] != 0xa1b2c3d4 && head[0] != 0xa1b23c4d) fail(path + ": not a capture in pcap format");
    auto order = [swap](uint32_t value) { return swap ? __builtin_bswap32(value) : value; };
    if ((order(head[5]) & 0xffff) != 1) fail(path + ": the capture is not of Ethernet");
    std::vector<Bytes> frames;
    uint32_t record[4];
    while (std::fread(record, 4, 4, file) == 4) {
        uint32_t length = order(record[2]);
        if (length > 65535) fail(path + ": a frame of " + std::to_string(length) + " bytes");
        Bytes frame(length);
        if (std::fread(frame.data(), 1, length, file) != length) fail(path + ": ends within a frame");
        frames.push_back(std::move(frame));
    }
    std::fclose(file);
    return frames;
}

static FILE *open_pcap(const std::string &path) {
    FILE *file = std::fopen(path.c_str(), "wb");
    if (!file) fail(path + ": " + std::strerror(errno));
    const uint32_t head[6] = {0xa1b23c4d, 0x00040002, 0, 0, 65535, 1};
    std::fwrite(head, 4, 6, file);
    return file;
}

// Adds a frame, with its time in nanoseconds.
static void write_pcap(FILE *file, const Bytes &frame, uint64_t nanoseconds) {
    const uint32_t size = static_cast<uint32_t>(frame.size());
    const uint32_t record[4] = {uint32_t(nanoseconds / 1'000'000'000), uint32_t(nanoseconds % 1'000'000'000), size, size};
    std::fwrite(record, 4, 4, file);
    std::fwrite(frame.data(), 1, frame.size(), file);
}

// Runs a design on the frames of captures, which enter back to back. Arguments, P is the number of a port:
//
//   --entries FILE    what the driver writes first, a line each: `w ADDRESS DATA` writes a word to the register bus, `i ADDRESS` reads one
//                     until it is zero. Numbers are hexadecimal
//   --in P=FILE       frames of a capture (pcap) enter by the port
//   --waves FILE      writes waveforms (VCD), if the simulation has been built with them
//
// What leaves by port P goes to outP.pcap; those of an earlier run are removed when the captures have been read. CLOCK_MHZ is the clock, from
// which the time follows; MAX_BYTES is the length of the longest packet.

#include <map>

#include "harness.h"
#include "pcap.h"

// Numbers of ports have nine bits.
constexpr unsigned PORTS = 512;

// When copies left, in cycles, as far as they have not been written.
static std::deque<uint64_t> times;

static void run_until(bool (*over)()) {
    while (!over()) {
        cycle();
        while (times.size() < done.size()) times.push_back(cycles);
    }
}

static void write_entries(const std::string &path) {
    FILE *file = std::fopen(path.c_str(), "r");
    if (!file) fail(path + ": " + std::strerror(errno));
    char line[256];
    for (int number = 1; std::fgets(line, sizeof line, file); number++) {
        unsigned address, data;
        if (std::sscanf(line, "w %x %x", &address, &data) == 2) bus_write(address, data);
        else if (std::sscanf(line, "i %x", &address) == 1) {
            while (bus_read(address) & 1) {
            }
        } else fail(path + ":" + std::to_string(number) + ": neither `w ADDRESS DATA` nor `i ADDRESS`");
    }
    std::fclose(file);
}

static unsigned port_of(const std::string &text) {
    bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
    unsigned long port = digits ? std::strtoul(text.c_str(), nullptr, 10) : PORTS;
    if (port >= PORTS) fail("port `" + text + "` is no number from 0 to " + std::to_string(PORTS - 1));
    return static_cast<unsigned>(port);
}

// Adds the frames of a capture, which enter by a port.
static void read_frames(unsigned port, const std::string &path, std::vector<std::pair<unsigned, Bytes>> &frames) {
    size_t number = 0;
    for (Bytes &frame : read_pcap(path)) {
        number++;
        if (frame.empty() || frame.size() > MAX_BYTES)
            fail(path + ": frame " + std::to_string(number) + " has " + std::to_string(frame.size()) + " bytes, of at most " +
                 std::to_string(MAX_BYTES));
        frames.emplace_back(port, std::move(frame));
    }
}

static std::string output(unsigned port) { return "out" + std::to_string(port) + ".pcap"; }

int main(int argc, char **argv) {
    std::vector<std::pair<unsigned, Bytes>> frames;
    std::string entries, waves_file;
    for (int i = 1; i < argc; i += 2) {
        std::string option = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
        size_t equals = value.find('=');
        if (option == "--entries") entries = value;
        else if (option == "--waves") waves_file = value;
        else if (option == "--in" && equals != std::string::npos)
            read_frames(port_of(value.substr(0, equals)), value.substr(equals + 1), frames);
        else fail(option + " " + value + ": no such option");
    }
    for (unsigned port = 0; port < PORTS; port++) std::remove(output(port).c_str());
    start(nullptr, waves_file.empty() ? nullptr : waves_file.c_str());
    if (!entries.empty()) write_entries(entries);
    for (auto &[port, frame] : frames) {
        waiting.push_back({port, cycles / CLOCK_MHZ, std::move(frame)});
        run_until([] { return waiting.size() < 2; });
    }
    run_until([] { return waiting.empty() && decided == entered && left == forwarded; });
    // The last values are seen for some cycles.
    for (int i = 0; i < 16; i++) cycle();
    std::map<unsigned, std::pair<FILE *, unsigned>> out;
    for (size_t i = 0; i < done.size(); i++) {
        auto &[file, count] = out[done[i].port];
        if (!file) file = open_pcap(output(done[i].port));
        write_pcap(file, done[i].bytes, times[i] * 1000 / CLOCK_MHZ);
        count++;
    }
    std::printf("%zu frames in, %zu out, %llu cycles\n", frames.size(), done.size(), (unsigned long long)cycles);
    for (auto &[port, file] : out) {
        std::printf("port %u: %u frames in %s\n", port, file.second, output(port).c_str());
        std::fclose(file.first);
    }
#ifdef WAVES
    if (waves) waves->close();
#endif
}

// config: WIDTH=9 PORTS=1
// config: WIDTH=16 PORTS=2
// config: WIDTH=40 PORTS=5
#include "bench.h"

struct Word {
    Bits data;
    bool last;
};

int main(int argc, char** argv) {
    start(argc, argv);
    std::vector<std::deque<Word>> queues(PORTS);  // Words of whole packets, in front of each port.
    std::vector<std::deque<Word>> sent(PORTS);    // Taken, and not yet out.
    std::vector<bool> offering(PORTS);
    int current = -1;  // The port whose packet is going out.
    std::vector<unsigned> overtaken(PORTS);

    dut->in_valid = 0;
    dut->out_ready = 0;
    reset(dut);
    unsigned gaps = 0, pressure = 0, words = 0;
    for (int i = 0; i < 40000; i++) {
        if (i % 1000 == 0) {
            gaps = static_cast<unsigned>(rnd.below(100));
            pressure = static_cast<unsigned>(rnd.below(100));
            if (rnd.one_in(3)) gaps = pressure = 0;
            words = 0;
        }
        unsigned valid = 0, last = 0;
        Bits data;
        for (int port = 0; port < PORTS; port++) {
            auto& queue = queues[port];
            if (queue.empty())
                for (uint64_t n = 1 + rnd.below(5); n > 0; n--) queue.push_back({Bits::random(WIDTH), n == 1});
            offering[port] = offering[port] || !rnd.chance(gaps);
            valid |= offering[port] << port;
            last |= queue.front().last << port;
            data.place(port * WIDTH, WIDTH, offering[port] ? queue.front().data : Bits::random(WIDTH));
        }
        dut->in_valid = valid;
        dut->in_last = last;
        put(dut->in_data, data);
        dut->out_ready = !rnd.chance(pressure);
        settle();
        if (dut->out_valid && dut->out_ready) {
            int port = PORTS > 1 ? dut->out_port : 0;
            CHECK(port < PORTS);
            CHECK(current < 0 || port == current, "port %d within a packet of port %d", port, current);
            CHECK(!sent[port].empty());
            auto word = sent[port].front();
            sent[port].pop_front();
            CHECK(get(dut->out_data) == word.data);
            CHECK(bool(dut->out_last) == word.last);
            current = word.last ? -1 : port;
            words++;
        }
        unsigned taken = dut->in_ready & valid;
        CHECK((taken & (taken - 1)) == 0);
        for (int port = 0; port < PORTS; port++) {
            if (!(taken >> port & 1)) continue;
            auto word = queues[port].front();
            queues[port].pop_front();
            sent[port].push_back(word);
            offering[port] = false;
            overtaken[port] = 0;
            // Nobody who waits all the time is passed by more packets than there are other ports.
            if (word.last)
                for (int other = 0; other < PORTS; other++)
                    if (other != port && offering[other] && ++overtaken[other] > PORTS)
                        CHECK(false, "port %d waits", other);
        }
        edge();
        if (gaps == 0 && pressure == 0 && i % 1000 == 999) CHECK(words >= 997, "%u words in 1000 cycles", words);
    }
    return done();
}

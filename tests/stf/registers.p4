// Registers keep values from packet to packet; beyond their end neither reading nor writing does anything.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>   index;
    bit<8>   value;
    bit<8>   previous;
    int<16>  lowest;
    bit<100> wide;
    bit<4>   zero;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<8>>(4) last;
    register<int<16>>(1) lowest;
    register<bit<100>>(2) wide;

    apply {
        last.read(d.previous, (bit<32>)d.index);
        last.write((bit<32>)d.index, d.value);

        int<16> low;
        lowest.read(low, 0);
        if (d.lowest < low) {
            low = d.lowest;
            lowest.write(0, low);
        }
        d.lowest = low;

        bit<100> w;
        wide.read(w, 1);
        w = w + d.wide;
        wide.write(1, w);
        d.wide = w;
    }
}

#include "frame/one_header.p4"

// Read, change and write within one packet: a read sees what the same packet wrote before; reading beyond the end
// leaves the target as it is.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<32> i;
    bit<16> add;
    bit<8> twice;
    bit<16> old;
    bit<16> new;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<16>>(4) cells;

    action double(in bit<32> i) {
        bit<16> x;
        cells.read(x, i);
        cells.write(i, x + x);
    }

    apply {
        bit<16> v;
        cells.read(v, d.i);
        d.old = v;
        cells.write(d.i, v + d.add);
        if (d.twice != 0) {
            double(d.i);
        }
        cells.read(d.new, d.i);
    }
}

#include "frame/one_header.p4"

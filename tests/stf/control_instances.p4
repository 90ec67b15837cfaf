// Instances keep their own tables, registers and counters; one instance applied twice is the same; constructor
// arguments.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> k;
    bit<8> first;
    bit<8> second;
    bit<8> again;
}

control Count(in bit<8> k, out bit<8> n)(bit<32> size, bit<8> step, bool enabled) {
    register<bit<8>>(size) cells;

    action add(bit<8> more) {
        n = n + more;
    }

    table t {
        key = { k : exact; }
        actions = { add; NoAction; }
        default_action = NoAction();
    }

    apply {
        if (enabled) {
            cells.read(n, (bit<32>) k);
            cells.write((bit<32>) k, n + step);
        }
        t.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Count(4, 1, true) one;
    Count(2, 0x10, true) two;
    Count(size = 1, enabled = false, step = 1) three;

    apply {
        bit<8> unused;
        one.apply(d.k, d.first);
        two.apply(d.k, d.second);
        one.apply(d.k, d.again);
        three.apply(d.k, unused);
        d.again = d.again + unused;
    }
}

#include "frame/one_header.p4"

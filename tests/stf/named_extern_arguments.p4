// Named arguments of extern methods and functions are evaluated in the order of the text, not of the declaration.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> state;
    bit<8> in_order;
    bit<8> named;
    bit<8> low;
    bit<8> hash;
}

bit<8> next(inout bit<8> state) {
    state = state + 1;
    return state;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    register<bit<8>>(16) cells;

    action set(@name("octet") bit<8> value) {
        d.low = value;
    }
    table t {
        key = { d.state: exact; }
        actions = { set; NoAction; }
    }

    apply {
        // write(index, value): cell 1 gets 2.
        cells.write((bit<32>) next(d.state), next(d.state));
        // The value is evaluated first: cell 4 gets 3.
        cells.write(value = next(d.state), index = (bit<32>) next(d.state));
        cells.read(d.in_order, 1);
        cells.read(d.named, 4);
        // The base is 6 and the data 5; no data changes the sum of 5 modulo 1, which is 0.
        hash(data = { next(d.state) }, max = 8w1, base = next(d.state), algo = HashAlgorithm.identity, result = d.hash);
        t.apply();
    }
}

#include "frame/one_header.p4"

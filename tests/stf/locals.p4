// Local variables: scopes, shadowing, initialisers; state of a control does not live from packet to packet.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> inner;
    bit<8> outer;
    bit<8> initialised_each_time;
    bit<8> constant;
    bit<8> from_before;
}

const bit<8> LIMIT = 1;

control Work(inout data_t d, inout standard_metadata_t std) {
    const bit<8> LIMIT = 2;
    bit<8> count = 5;
    bit<8> from_parameter = d.x + 1;

    action bump() {
        bit<8> local = 1;
        local = local + local;
        count = count + local;
    }

    apply {
        bit<8> v = 1;
        {
            bit<8> v = 2;
            v = v + d.x;
            d.inner = v;
        }
        d.outer = v;
        bump();
        bump();
        d.initialised_each_time = count;
        {
            const bit<8> LIMIT = 3;
            d.constant = LIMIT;
        }
        d.constant = d.constant * 16 + LIMIT;
        d.x = 0;
        d.from_before = from_parameter;
    }
}

#include "frame/one_header.p4"

// Range keys: bounds are included, priority decides between overlapping entries, combined with exact.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> port;
    bit<8>  proto;
    bit<8>  result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.result = v;
    }
    table t {
        key = {
            d.port: range;
            d.proto: exact;
        }
        actions = { set; NoAction; }
        const default_action = set(0xdd);
        const entries = {
            (0 .. 1023, 6): set(1);
            (80 .. 80, 17): set(2);
            (1000 .. 2000, 6): set(3);
            (0xff00 .. 0xffff, 6): set(4);
            (_, 1): set(5);
        }
    }
    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"

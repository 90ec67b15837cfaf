// One exact table over keys of many odd widths: every bit of each counts.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<1> k1;
    bit<7> k7;
    bit<9> k9;
    bit<31> k31;
    bit<33> k33;
    bit<63> k63;
    bit<64> k64;
    bit<65> k65;
    bit<127> k127;
    bit<129> k129;
    bit<256> k256;
    bit<8> r;
    bit<7> pad;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.r = v;
    }

    table t {
        key = {
            d.k1 : exact;
            d.k7 : exact;
            d.k9 : exact;
            d.k31 : exact;
            d.k33 : exact;
            d.k63 : exact;
            d.k64 : exact;
            d.k65 : exact;
            d.k127 : exact;
            d.k129 : exact;
            d.k256 : exact;
        }
        actions = { set; }
    }

    apply {
        t.apply();
    }
}

#include "frame/one_header.p4"

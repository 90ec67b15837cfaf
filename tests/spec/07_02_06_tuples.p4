// Section 7.2.6: tuples hold values of several types, also none.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8>  a;
    bit<16> b;
    bit<8>  flag;
}

tuple<bit<16>, bit<8>, bool> turn(in tuple<bit<8>, bit<16>> t) {
    return { t[1], t[0], t[0] == 1 };
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        tuple<bit<8>, bit<16>> t = { d.a, d.b };
        tuple<> none = {};
        tuple<bit<16>, bit<8>, bool> turned = turn(t);
        d.a = turned[0][7:0];
        d.b = (bit<16>) turned[1];
        d.flag = turned[2] && none == {} ? 8w1 : 0;
    }
}

#include "../stf/frame/one_header.p4"

// Section 8.12: an element of a tuple is assigned on its own, as p4c permits. The specification leaves that to a later version.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> first;
    bit<8> second;
    bit<8> whole;
}

void set(out bit<8> x) {
    x = 7;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        tuple<bit<8>, bit<8>> t = { 1, 2 };
        tuple<bit<8>, bit<8>> u = t;
        t[0] = d.a;
        set(t[1]);
        d.first = t[0];
        d.second = t[1];
        t = u;
        d.whole = t[0] + t[1];
    }
}

#include "../stf/frame/one_header.p4"

// Section 6.8: the place of an argument is fixed when it is reached, so that an index that later arguments change does not
// matter.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> z;
}

header data_t {
    bit<8> op;
    bit<8> i;
    bit<8> r0;
    bit<8> r1;
}

void f(inout bit<8> x, in bit<8> y) {
    x = x + y;
}

bit<8> g(inout bit<8> i) {
    i = 1 - i;
    return 0x10;
}

void shift(out bit<8> x, inout bit<8> i) {
    x = i + 0x40;
    i = 1 - i;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        item_t[2] s;
        s[0] = { 1 };
        s[1] = { 2 };
        bit<8> i = d.i;
        if (d.op == 1) {
            f(s[i].z, g(i));
        } else if (d.op == 2) {
            bit<8> at = i;
            bit<8> value = s[at].z;
            bit<8> result = g(i);
            f(value, result);
            s[at].z = value;
        } else {
            shift(s[i].z, i);
        }
        d.i = i;
        d.r0 = s[0].z;
        d.r1 = s[1].z;
    }
}

#include "../stf/frame/one_header.p4"

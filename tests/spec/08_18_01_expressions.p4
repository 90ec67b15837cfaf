// Section 8.18.1: values of stacks: with their type, without it, and with the rest invalid.

#include <core.p4>
#include <v1model.p4>

header H<T> {
    bit<8> b;
    T      t;
}

header data_t {
    bit<8> same;
    bit<8> validity;
    bit<8> sum;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        H<bit<8>>[3] s = (H<bit<8>>[3]) { { 0, 1 }, { 2, 3 }, (H<bit<8>>) {#} };
        H<bit<8>>[3] s1 = { { 0, 1 }, { 2, 3 }, (H<bit<8>>) {#} };
        H<bit<8>>[3] s2 = { { 0, 1 }, { 2, 3 }, ... };
        d.same = s == s1 && s1 == s2 ? 8w1 : 2;
        d.validity = (s[0].isValid() ? 8w1 : 0) + (s1[1].isValid() ? 8w2 : 0) + (s2[2].isValid() ? 8w4 : 0);
        d.sum = s[0].t + s1[1].b + s2[1].t;
    }
}

#include "../stf/frame/one_header.p4"

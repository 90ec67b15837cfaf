// Section 12: an assignment with an operator evaluates its left side once.

#include <core.p4>
#include <v1model.p4>

header item_t {
    bit<8> x;
}

header data_t {
    bit<8> calls;
    bit<8> s0;
    bit<8> s1;
    bit<8> r;
}

bit<1> next(inout bit<8> calls) {
    calls = calls + 1;
    return calls[0:0];
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        item_t[2] s;
        s[0] = { 0x10 };
        s[1] = { 0x20 };
        s[next(d.calls)].x += 3;
        d.s0 = s[0].x;
        d.s1 = s[1].x;
        d.r -= 1;
        d.r |-|= 0xff;
        d.r ^= 0x0f;
        d.r <<= 1;
        d.r[7:4] |= 5;
    }
}

#include "../stf/frame/one_header.p4"

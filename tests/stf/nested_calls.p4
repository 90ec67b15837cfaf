// Functions that call functions with inout arguments, results as arguments, early results, through five levels.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> r;
    bit<8> trace;
}

bit<8> level1(inout bit<8> t, in bit<8> x) {
    t = t + 1;
    return x + 1;
}

bit<8> level2(inout bit<8> t, in bit<8> x) {
    if (x == 3) {
        return 0x30;
    }
    return level1(t, level1(t, x));
}

bit<8> level3(inout bit<8> t, in bit<8> x) {
    bit<8> own = 0x10;
    bit<8> r = level2(own, x) + level2(t, x + 1);
    t = t + own;
    return r;
}

bit<8> level4(inout bit<8> t, in bit<8> x) {
    return x == 0 ? level1(t, x) : level3(t, x);
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        d.r = level4(d.trace, d.a);
        if (level1(d.trace, d.r) == 8) {
            d.trace = d.trace | 0x80;
        }
    }
}

#include "frame/one_header.p4"

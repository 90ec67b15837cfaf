// Inner declarations hide outer ones; a block's locals end with it.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> outer;
    bit<8> inner;
    bit<8> action_local;
    bit<8> parameter;
}

const bit<8> x = 0x10;

bit<8> f(bit<8> x) {
    return x + 1;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<8> y = x;
    action a(bit<8> y) {
        bit<8> z = y + 1;
        d.action_local = z;
    }
    apply {
        {
            bit<8> y = 0x77;
            d.inner = y;
            {
                bit<8> y = 0x78;
                d.inner = d.inner + y;
            }
        }
        d.outer = y;
        a(0x20);
        d.parameter = f(x);
    }
}

#include "frame/one_header.p4"

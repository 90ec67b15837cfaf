// Section draft 20.3.5: blocks that are likely or unlikely: they mean what they mean without.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> x;
    bit<8> r;
    bit<8> s;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    apply {
        if (d.x == 0xff) @unlikely {
            d.r = 1;
        } else @likely {
            d.r = 2;
        }
        switch (d.x) {
            1: @likely { d.s = 1; }
            2: { d.s = 2; }
            default: @unlikely { d.s = 3; }
        }
    }
}

#include "../stf/frame/one_header.p4"

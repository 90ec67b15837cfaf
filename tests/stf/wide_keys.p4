// Keys of 128 bits in exact, lpm and ternary tables, and keys that are slices and masks.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<128> address;
    bit<8>   exact_result;
    bit<8>   lpm_result;
    bit<8>   ternary_result;
    bit<8>   masked_result;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set_exact(bit<8> v) { d.exact_result = v; }
    action set_lpm(bit<8> v) { d.lpm_result = v; }
    action set_ternary(bit<8> v) { d.ternary_result = v; }
    action set_masked(bit<8> v) { d.masked_result = v; }

    table by_exact {
        key = { d.address : exact; }
        actions = { set_exact; }
    }

    table by_lpm {
        key = { d.address : lpm; }
        actions = { set_lpm; }
    }

    table by_ternary {
        key = { d.address : ternary; }
        actions = { set_ternary; }
    }

    table by_mask {
        key = {
            d.address & 0xff00 : exact @name("masked");
            d.address[127:120] : exact @name("top");
        }
        actions = { set_masked; }
    }

    apply {
        by_exact.apply();
        by_lpm.apply();
        by_ternary.apply();
        by_mask.apply();
    }
}

#include "frame/one_header.p4"

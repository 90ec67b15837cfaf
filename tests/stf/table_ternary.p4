// Ternary and optional keys: among the entries that match, the one with the highest priority wins.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<16> a;
    bit<8>  b;
    bit<8>  by_mask;
    bit<8>  by_optional;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action mask(bit<8> value) {
        d.by_mask = value;
    }

    action option(bit<8> value) {
        d.by_optional = value;
    }

    table masked {
        key = {
            d.a : ternary;
            d.b : ternary;
        }
        actions = { mask; }
        default_action = mask(0xff);
    }

    table optional_key {
        key = {
            d.a : optional;
            d.b : exact;
        }
        actions = { option; }
        const default_action = option(0xee);
    }

    apply {
        masked.apply();
        optional_key.apply();
    }
}

#include "frame/one_header.p4"

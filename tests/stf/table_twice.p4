// A table applied from two places sees the keys of each moment; its actions may take arguments of the place of listing.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> a;
    bit<8> b;
    bit<8> both;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    // `target` is bound where the table lists the action; `amount` comes from the entry.
    action add(inout bit<8> target, bit<8> amount) {
        target = target + amount;
        d.key = d.key + 1;
    }

    action clear(inout bit<8> target, in bit<8> value) {
        target = value;
    }

    table t {
        key = { d.key : exact; }
        actions = { add(d.a); clear(d.b, d.key + 0x10); }
        default_action = clear(d.b, d.key + 0x10);
    }

    apply {
        if (d.both == 1) {
            t.apply();
            t.apply();
        } else {
            t.apply();
        }
    }
}

#include "frame/one_header.p4"

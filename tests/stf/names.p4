// Words that mean something only in some places are names elsewhere; names that differ in one character or in
// case.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> actions;
    bit<8> stack;
    bit<8> entries;
    bit<8> size;
    bit<8> a_b;
    bit<8> a__b;
    bit<8> A_b;
    bit<8> kind;
    bit<8> applied;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action entries(bit<8> entries) {
        d.entries = entries;
    }

    table actions {
        key = { d.key : exact; }
        actions = { entries; }
        size = 4;
        const entries = {
            5 : entries(0x55);
        }
    }

    apply {
        bit<8> key = d.key;
        actions.apply();
        d.actions = key + 1;
        bit<8> size = key * 2;
        d.size = size;
        d.a_b = 1;
        d.a__b = 2;
        d.A_b = 3;
    }
}

#include "frame/one_header.p4"

// Section 14.2.1.2: a table whose entries drop or rewrite; actions with bound parameters, whose arguments are evaluated when the
// action runs.
// Section 14.2.1.3: a constant default action; default actions with data, and with the arguments of the list.

#include <core.p4>
#include <v1model.p4>

const bit<9> DROP = 9;

header data_t {
    bit<8>  port;
    bit<48> src;
    bit<8>  z;
    bit<8>  result;
}

action global(in bit<8> x, out bit<8> y) {
    y = x;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    bit<8> z = 0;

    action drop() {
        std.egress_spec = DROP;
    }

    action rewrite(bit<48> source) {
        d.src = source;
    }

    table smac {
        key = { d.port: exact; }
        actions = { drop; rewrite; }
        const default_action = rewrite(48w0xAA_BB_CC_DD_EE_FF);
    }

    action a(in bit<8> x) {
        d.result = x;
    }

    action b(inout bit<8> x, bit<8> data) {
        x = x + data;
    }

    table five {
        key = { d.port: exact; }
        actions = { a(5); b(z); NoAction; }
        default_action = a(5);
    }

    table plus {
        key = { d.port: exact; }
        actions = { a(5); b(z); .global(z + 1, d.z); }
        default_action = b(z, 8w8);
    }

    apply {
        smac.apply();
        five.apply();
        z = z + 1;
        plus.apply();
        d.result = d.result + z;
    }
}

#include "../stf/frame/one_header.p4"

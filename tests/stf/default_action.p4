// const default actions, arguments of default actions, entries for actions marked @tableonly and @defaultonly.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> key;
    bit<8> result;
    bit<8> fixed;
}

const bit<8> START = 0x40;

control Work(inout data_t d, inout standard_metadata_t std) {
    action hit(bit<8> value) {
        d.result = value;
    }

    action missed(bit<8> value, bit<8> more) {
        d.result = value + more;
    }

    action fix(in bit<8> from, bit<8> value) {
        d.fixed = from ^ value;
    }

    table t {
        key = { d.key : exact; }
        actions = { @tableonly hit; @defaultonly missed; }
        default_action = missed(START + 1, 2);
    }

    table f {
        key = { d.key : exact; }
        actions = { fix(d.key + 1); }
        const default_action = fix(d.key + 1, 0xf0);
    }

    apply {
        t.apply();
        f.apply();
    }
}

#include "frame/one_header.p4"

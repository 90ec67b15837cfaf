// Actions with data and with directed parameters in one table list; arguments bound where the table lists the
// action.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action add(inout bit<8> to, in bit<8> from, bit<8> more) {
        to = to + from + more;
    }

    action both(out bit<8> first, bit<8> p, bit<8> q) {
        first = p ^ q;
        d.z = q;
    }

    table t {
        key = { d.a : exact; }
        actions = {
            add(d.x, d.y);
            both(d.y);
        }
        const default_action = add(d.x, d.y, 100);
    }

    apply {
        t.apply();
        add(d.z, 1, 2);
    }
}

#include "frame/one_header.p4"

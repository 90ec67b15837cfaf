// Calls with effects in the arguments of a table's actions, made each time the action runs; a key that is whether another
// table hits.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> n;
}

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n * 2;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(in bit<8> x, in bit<8> y) {
        d.b = x ++ 4w0 == 12w0 ? 8w0xff : x + (y << 4);
    }

    action keep() {}

    table inner {
        key = { d.a : exact; }
        actions = { keep; set(next(d.n), next(d.n)); }
        default_action = keep();
        const entries = {
            1: set(next(d.n), next(d.n));
            2: keep();
        }
    }

    table outer {
        key = { inner.apply().hit : exact @name("hit"); d.b : ternary @name("b"); }
        actions = { keep; set(1, 2); }
        default_action = keep();
        const entries = {
            (false, _): set(1, 2);
        }
    }

    apply {
        outer.apply();
    }
}

#include "frame/one_header.p4"

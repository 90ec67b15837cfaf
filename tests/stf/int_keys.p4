// Keys of int<W>, bool, enums and new types; a field used by several keys.

#include <core.p4>
#include <v1model.p4>

enum Mode {
    Slow,
    Fast
}

enum bit<8> Kind {
    One = 1,
    Two = 2
}

type bit<8> opaque_t;

header data_t {
    int<8>   number;
    Kind     kind;
    opaque_t opaque;
    bit<8>   result;
    bit<8>   by_mode;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set(bit<8> v) {
        d.result = v;
    }

    action mode(bit<8> v) {
        d.by_mode = v;
    }

    table t {
        key = {
            d.number : exact;
            d.kind : exact;
            d.opaque : exact;
            d.number[7:7] : exact @name("sign");
        }
        actions = { set; }
        const entries = {
            (-1, Kind.One, (opaque_t)7, 1) : set(0x11);
            (5, Kind.Two, (opaque_t)7, 0) : set(0x22);
            // Never: 5 has no sign.
            (5, Kind.One, (opaque_t)7, 1) : set(0x33);
        }
    }

    Mode m = Mode.Slow;

    table modes {
        key = { m : exact; d.number > 0 : exact @name("positive"); }
        actions = { mode; }
        const entries = {
            (Mode.Fast, true) : mode(1);
            (Mode.Slow, false) : mode(2);
            (Mode.Slow, true) : mode(3);
        }
    }

    apply {
        t.apply();
        if (d.kind == Kind.Two) {
            m = Mode.Fast;
        }
        modes.apply();
    }
}

#include "frame/one_header.p4"

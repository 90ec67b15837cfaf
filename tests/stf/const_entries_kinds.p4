// Entries in the program: values, masks, ranges, prefixes, _ and default; in their order but for prefixes.

#include <core.p4>
#include <v1model.p4>

header data_t {
    bit<8> a;
    bit<8> b;
    bit<8> first;
    bit<8> pair;
    bit<8> longest;
}

control Work(inout data_t d, inout standard_metadata_t std) {
    action set_first(bit<8> v) {
        d.first = v;
    }

    action set_pair(bit<8> v) {
        d.pair = v;
    }

    action set_longest(bit<8> v) {
        d.longest = v;
    }

    table first {
        key = { d.a : range; }
        actions = { set_first; }
        const entries = {
            5            : set_first(1);
            0x50 .. 0x5f : set_first(2);
            0x40 .. 0x57 : set_first(3);
            _            : set_first(9);
        }
    }

    table pair {
        key = {
            d.a : ternary;
            d.b : ternary;
        }
        actions = { set_pair; }
        const entries = {
            (1, 2)                : set_pair(1);
            (_, 2)                : set_pair(2);
            (1 &&& 0xff, default) : set_pair(3);
            (default, _)          : set_pair(4);
        }
    }

    table longest {
        key = { d.a : lpm; }
        actions = { set_longest; NoAction; }
        default_action = NoAction();
        const entries = {
            0x80 &&& 0x80 : set_longest(1);
            0xff          : set_longest(3);
            0xf0 &&& 0xf0 : set_longest(2);
        }
    }

    apply {
        first.apply();
        pair.apply();
        longest.apply();
    }
}

#include "frame/one_header.p4"

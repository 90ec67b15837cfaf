// Locals declared in a loop or a called control start anew each time; tables with the same action name keep apart.

#include <core.p4>
#include <v1model.p4>

struct scratch_t {
    bit<8> x;
    bool   set;
}

header small_t {
    bit<8> x;
}

header data_t {
    bit<8> sum;
    bit<8> headers;
    bit<8> inner;
    bit<8> left;
    bit<8> right;
}

control Inner(inout bit<8> out_value) {
    scratch_t s;
    small_t h;

    apply {
        if (!s.set && !h.isValid() && h.x == 0) {
            out_value = out_value + 1;
        }
        s.set = true;
        h.setValid();
        h.x = 7;
    }
}

control Side(inout bit<8> v)(bit<8> missed) {
    action set(bit<8> x) {
        v = x;
    }

    table t {
        key = { v : exact; }
        actions = { set; }
        default_action = set(missed);
    }

    apply {
        t.apply();
    }
}

control Work(inout data_t d, inout standard_metadata_t std) {
    Inner() inner;
    Side(0x11) left;
    Side(0x22) right;

    apply {
        for (bit<8> i in 8w1..3) {
            scratch_t s;
            small_t h;
            s.x = s.x + i;
            d.sum = d.sum + s.x;
            if (!h.isValid()) {
                d.headers = d.headers + 1;
            }
            h.setValid();
            inner.apply(d.inner);
        }
        left.apply(d.left);
        right.apply(d.right);
    }
}

#include "frame/one_header.p4"

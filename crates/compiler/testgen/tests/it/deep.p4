#include <core.p4>
#include <v1model.p4>

header outer_t { bit<16> kind; bit<8> length; bit<8> x; }
header inner_t { bit<16> a; bit<16> b; bit<16> sum; }
header option_t { bit<8> code; bit<8> value; }
struct headers { outer_t outer; inner_t inner; option_t[3] options; }
struct metadata { bit<8> class; bit<8> never; bit<16> cell; bit<2> color; bit<3> turn; }

parser P(packet_in p, out headers h, inout metadata meta, inout standard_metadata_t sm) {
    value_set<bit<16>>(4) kinds;
    state start {
        p.extract(h.outer);
        transition select(h.outer.kind, h.outer.length) {
            (0x1234, 5 .. 9): inner;
            (0x4000 &&& 0xf000, _): options;
            (kinds, _): accept;
            default: reject;
        }
    }
    state inner {
        p.extract(h.inner);
        transition accept;
    }
    state options {
        p.extract(h.options.next);
        verify(h.options.last.value != 0, error.NoMatch);
        transition select(h.options.last.code) {
            0: accept;
            1: options;
            2: inner;
        }
    }
}

control V(inout headers h, inout metadata meta) {
    apply {
        verify_checksum(h.inner.isValid(), { h.inner.a, h.inner.b }, h.inner.sum, HashAlgorithm.csum16);
    }
}

control I(inout headers h, inout metadata meta, inout standard_metadata_t sm) {
    register<bit<16>>(16) cells;
    meter(8, MeterType.packets) speed;
    action classify(bit<8> class) { meta.class = class; }
    action drop() { mark_to_drop(sm); }
    action send(bit<9> port, bit<16> group) {
        sm.egress_spec = port;
        sm.mcast_grp = group;
    }
    action again() { resubmit_preserving_field_list(1); }
    table classes {
        key = { h.outer.x: ternary; h.outer.length: range; }
        actions = { classify; drop; NoAction; }
    }
    table ports {
        key = { meta.class: exact; sm.instance_type: exact; }
        actions = { send; again; drop; }
        default_action = drop();
    }
    table fixed {
        key = { h.outer.x: lpm; }
        actions = { classify; drop; }
        const entries = {
            0x80 &&& 0xf0: classify(1);
            0x84 &&& 0xfc: classify(2);
        }
        default_action = drop();
    }
    apply {
        classes.apply();
        if (meta.class == 77) {
            fixed.apply();
        }
        if (h.inner.isValid() && sm.checksum_error == 0) {
            if (meta.class == 200 && h.inner.a + h.inner.b == 0x5555) {
                cells.read(meta.cell, (bit<32>) h.outer.length);
                if (meta.cell == 0xbeef) {
                    cells.write((bit<32>) h.outer.length, h.inner.a);
                }
            }
        }
        speed.execute_meter((bit<32>) (h.outer.x & 7), meta.color);
        if (meta.color == 2) {
            meta.class = 3;
        } else if (meta.color == 1) {
            meta.class = 4;
        }
        if (h.outer.x < 4 && h.outer.x > 8) {
            meta.never = 1;
        }
        switch (ports.apply().action_run) {
            send: { h.outer.length = 1; }
            default: { h.outer.length = 2; }
        }
    }
}

control E(inout headers h, inout metadata meta, inout standard_metadata_t sm) {
    apply {
        if (sm.egress_rid == 2) {
            h.outer.x = 9;
        }
    }
}

control C(inout headers h, inout metadata meta) {
    apply {
        update_checksum(h.inner.isValid(), { h.inner.a, h.inner.b }, h.inner.sum, HashAlgorithm.csum16);
    }
}

control D(packet_out p, in headers h) {
    apply {
        p.emit(h.outer);
        p.emit(h.options);
        p.emit(h.inner);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;

#include <core.p4>
#include <v1model.p4>

error { Zero }

header kind_t { bit<8> kind; }
header value_t { bit<8> value; }
struct headers { kind_t k; value_t v; }
struct meta { bit<8> x; }

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t sm) {
    state start {
        p.extract(h.k);
        transition select(h.k.kind) {
            1: value;
            2: accept;
        }
    }
    state value {
        p.extract(h.v);
        verify(h.v.value != 0, error.Zero);
        transition accept;
    }
}

control V(inout headers h, inout meta m) { apply {} }

control I(inout headers h, inout meta m, inout standard_metadata_t sm) {
    action drop() { mark_to_drop(sm); }
    action forward(bit<9> port) {
        sm.egress_spec = port;
    }
    table t {
        key = { h.v.value: exact; }
        actions = { forward; drop; }
        default_action = drop();
    }
    table fixed {
        key = { h.k.kind: exact; }
        actions = { drop; NoAction; }
        const entries = { 3: drop(); }
        const default_action = NoAction();
    }
    apply {
        if (h.v.value < 200 && sm.ingress_port != 0) {
            m.x = 1;
        }
        if (h.v.isValid()) {
            switch (t.apply().action_run) {
                forward: { m.x = 2; }
                default: { m.x = 3; }
            }
        } else {
            fixed.apply();
        }
    }
}

control E(inout headers h, inout meta m, inout standard_metadata_t sm) { apply {} }
control C(inout headers h, inout meta m) { apply {} }
control D(packet_out p, in headers h) {
    apply {
        p.emit(h.k);
        p.emit(h.v);
    }
}

V1Switch(P(), V(), I(), E(), C(), D()) main;

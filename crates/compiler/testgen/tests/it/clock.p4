// At most one packet in half a millisecond.

#include <core.p4>
#include <v1model.p4>

header data_t { bit<8> a; }
struct headers { data_t data; }
struct meta { }

parser P(packet_in p, out headers h, inout meta m, inout standard_metadata_t sm) {
    state start { p.extract(h.data); transition accept; }
}
control V(inout headers h, inout meta m) { apply { } }
control I(inout headers h, inout meta m, inout standard_metadata_t sm) {
    register<bit<48>>(1) heard;
    bit<48> before = 0;

    apply {
        heard.read(before, 0);
        if (sm.ingress_global_timestamp - before < 500) {
            mark_to_drop(sm);
            return;
        }
        heard.write(0, sm.ingress_global_timestamp);
        sm.egress_spec = 3;
    }
}
control E(inout headers h, inout meta m, inout standard_metadata_t sm) { apply { } }
control C(inout headers h, inout meta m) { apply { } }
control D(packet_out p, in headers h) { apply { p.emit(h); } }

V1Switch(P(), V(), I(), E(), C(), D()) main;

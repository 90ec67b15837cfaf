// `varbit<0>` is a type, whose values have no bits (P4-16 7.1.6.4).

#include <core.p4>
#include <v1model.p4>
header data_t { bit<8> x; varbit<0> v; }
struct headers_t { data_t data; }
struct meta_t {}
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { packet.extract(hdr.data, 0); transition accept; }
}
control V(inout headers_t hdr, inout meta_t meta) { apply {} }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    varbit<0> local;
    apply { local = hdr.data.v; std.egress_spec = 2; hdr.data.v = local; if (hdr.data.v == local) { hdr.data.x = 7; } }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply {} }
control C(inout headers_t hdr, inout meta_t meta) { apply {} }
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr.data); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;

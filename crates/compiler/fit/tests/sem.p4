// The cipher SEM as a router for EPIC level 0 uses it: one block a packet, and a tag that is compared.

#include <core.p4>
#include <v1model.p4>
#include "../../../../p4/epic/cipher_sem.p4"

header block_t { bit<128> block; bit<48> tag; bit<9> port; bit<7> rest; }
struct headers_t { block_t hop; }
struct meta_t { }

parser P(packet_in p, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start { p.extract(hdr.hop); transition accept; }
}

control V(inout headers_t hdr, inout meta_t meta) { apply { } }

control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    AuthenticateHop() authenticate_hop;
    bit<128> sigma = 0;
    bit<64> shown = 0;

    apply {
        authenticate_hop.apply(hdr.hop.block, sigma);
        shown = shorten(sigma);
        if (shown[63:16] == hdr.hop.tag) {
            std.egress_spec = hdr.hop.port;
        } else {
            mark_to_drop(std);
        }
    }
}

control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
control D(packet_out p, in headers_t hdr) { apply { p.emit(hdr); } }
V1Switch(P(), V(), I(), E(), C(), D()) main;

// The parts of a switch that a program leaves empty, and its deparser: all headers in order. The program defines `headers_t`, `meta_t`,
// `Parse` and `SwitchIngress`; with OWN_CHECKSUMS also `Verify` and `Update`, with OWN_EGRESS also `SwitchEgress`.

#ifndef OWN_CHECKSUMS
control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {}
}
#endif

#ifndef OWN_EGRESS
control SwitchEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}
#endif

control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

V1Switch(Parse(), Verify(), SwitchIngress(), SwitchEgress(), Update(), Deparse()) main;

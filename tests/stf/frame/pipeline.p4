// The parts of the switch that a test does not care about. The program defines `headers_t`, `meta_t`,
// `TestParser`, `TestIngress` and `TestDeparser` before it includes this.

control NoChecksums(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control NoEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {}
}

V1Switch(TestParser(), NoChecksums(), TestIngress(), NoEgress(), NoChecksums(), TestDeparser()) main;

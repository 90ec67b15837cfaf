// Layout 1br+1aes: packets pass the AES pipe twice, in a loop.
//
// Devices have ports of pipe 0. The ports of the CPU and of the machine's sockets are in pipe 3.

#define AES_PIPES 1
#include "border_router.p4"
#include "aes.p4"

control AesIngress(inout bridge_headers_t hdr, inout no_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                   in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                   inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                   inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    InnerRounds() inner;
    LastRoundOfBoth() last;

    apply {
        if (hdr.bridge.rounds_done == 1) {
            inner.apply(hdr.bridge);
            ig_tm_md.ucast_egress_port = FIRST_AES_PORT;
        } else {
            last.apply(hdr.bridge);
            ig_tm_md.ucast_egress_port = (PortId_t) hdr.bridge.back;
        }
    }
}

control AesEgress(inout bridge_headers_t hdr, inout no_metadata_t meta) {
    OuterRounds() outer;

    apply {
        outer.apply(hdr.bridge);
    }
}

Pipeline(AesIngressParser(), AesIngress(), BridgeDeparser(),
         BridgeEgressParser(), AesEgress(), BridgeDeparser()) aes;

Switch(border_router, aes, aes, border_router) main;

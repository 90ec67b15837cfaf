// Layouts 1br+2aes and 2br+2aes: packets pass one AES pipe after the other.
//
// In layout 1br+2aes, devices have ports of pipe 0, in layout 2br+2aes of pipes 0 and 3. The ports of the CPU and of the machine's sockets
// are in pipe 3.

#define AES_PIPES 2
#include "border_router.p4"
#include "aes.p4"

control FirstAesIngress(inout bridge_headers_t hdr, inout no_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                        in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                        inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                        inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    InnerRounds() inner;

    apply {
        inner.apply(hdr.bridge);
        ig_tm_md.ucast_egress_port = SECOND_AES_PORT;
    }
}

control FirstAesEgress(inout bridge_headers_t hdr, inout no_metadata_t meta) {
    OuterRounds() outer;

    apply {
        outer.apply(hdr.bridge);
    }
}

control SecondAesIngress(inout bridge_headers_t hdr, inout no_metadata_t meta, in ingress_intrinsic_metadata_t ig_intr_md,
                         in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
                         inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
                         inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    LastRoundOfBoth() last;

    apply {
        last.apply(hdr.bridge);
        ig_tm_md.ucast_egress_port = (PortId_t) hdr.bridge.back;
    }
}

control SecondAesEgress(inout bridge_headers_t hdr, inout no_metadata_t meta) {
    OuterRounds() outer;

    apply {
        outer.apply(hdr.bridge);
    }
}

Pipeline(AesIngressParser(), FirstAesIngress(), BridgeDeparser(),
         BridgeEgressParser(), FirstAesEgress(), BridgeDeparser()) first_aes;
Pipeline(AesIngressParser(), SecondAesIngress(), BridgeDeparser(),
         BridgeEgressParser(), SecondAesEgress(), BridgeDeparser()) second_aes;

Switch(border_router, first_aes, second_aes, border_router) main;

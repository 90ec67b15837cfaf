// An action selector with a symmetric hash: both directions of a flow have the same member.

#include <core.p4>
#include <tna.p4>

header flow_t {
    bit<8>  group;
    bit<32> src;
    bit<32> dst;
    bit<8>  member;          // written
}

struct headers_t {
    flow_t flow;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.flow);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    @symmetric("hdr.flow.src", "hdr.flow.dst")
    Hash<bit<16>>(HashAlgorithm_t.CRC16) hash;
    ActionProfile(16) profile;
    ActionSelector(profile, hash, SelectorMode_t.FAIR, 16, 4) selector;

    action choose(bit<8> member) {
        hdr.flow.member = member;
    }
    table spread {
        key = {
            hdr.flow.group: exact;
            hdr.flow.src: selector;
            hdr.flow.dst: selector;
        }
        actions = { choose; NoAction; }
        default_action = NoAction();
        implementation = selector;
        size = 4;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        spread.apply();
    }
}

#include "frame/tna.p4"

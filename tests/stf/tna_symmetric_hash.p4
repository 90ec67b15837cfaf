// `@symmetric` hashes of a Tofino: both directions of a flow have the same hash. The two fields are hashed in the place of the later one.

#include <core.p4>
#include <tna.p4>

header flow_t {
    bit<8>  which;
    bit<32> src;
    bit<32> dst;
    bit<16> sport;
    bit<16> dport;
    bit<8>  protocol;
    bit<32> hash;            // written
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
    Hash<bit<16>>(HashAlgorithm_t.CRC16) addresses;

    @symmetric("hdr.flow.dst", "hdr.flow.src")
    Hash<bit<16>>(HashAlgorithm_t.CRC16) named_backwards;

    @symmetric("hdr.flow.src", "hdr.flow.dst")
    @symmetric("hdr.flow.sport", "hdr.flow.dport")
    Hash<bit<32>>(HashAlgorithm_t.CRC32) five_tuple;

    @symmetric("hdr.flow.sport", "hdr.flow.dport")
    Hash<bit<32>>(HashAlgorithm_t.CRC32) ports_only;

    CRCPolynomial<bit<16>>(16w0x1021, false, false, false, 16w0xffff, 16w0) ccitt;
    @symmetric("hdr.flow.src", "hdr.flow.dst")
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, ccitt) custom;

    Hash<bit<32>>(HashAlgorithm_t.CRC32) plain;

    action send(bit<32> hash) {
        hdr.flow.hash = hash;
    }

    apply {
        ig_tm_md.ucast_egress_port = 2;
        if (hdr.flow.which == 0) {
            send((bit<32>) addresses.get({ hdr.flow.src, hdr.flow.dst }));
        } else if (hdr.flow.which == 1) {
            send((bit<32>) named_backwards.get({ hdr.flow.src, hdr.flow.dst }));
        } else if (hdr.flow.which == 2) {
            send(five_tuple.get({ hdr.flow.src, hdr.flow.dst, hdr.flow.sport, hdr.flow.dport, hdr.flow.protocol }));
        } else if (hdr.flow.which == 3) {
            send(ports_only.get({ hdr.flow.src, hdr.flow.dst, hdr.flow.sport, hdr.flow.dport }));
        } else if (hdr.flow.which == 4) {
            send((bit<32>) custom.get({ hdr.flow.protocol, hdr.flow.src, hdr.flow.dst }));
        } else {
            // The same function as `five_tuple`, written out.
            send(plain.get({ 32w0, hdr.flow.src ^ hdr.flow.dst, 16w0, hdr.flow.sport ^ hdr.flow.dport, hdr.flow.protocol }));
        }
    }
}

#include "frame/tna.p4"

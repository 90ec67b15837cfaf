// A program for Tofino whose hashes a controller changes: it writes them into the packet, and sends this to the member that a hash selects.

#include <core.p4>
#include <tna.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> type;
}

header flow_t {
    bit<32> src;
    bit<32> dst;
    bit<16> port;
}

header hashes_t {
    bit<64> wide;
    bit<32> part;
    bit<16> twice;
}

struct headers_t {
    ethernet_t ethernet;
    flow_t     flow;
    hashes_t   hashes;
}

struct metadata_t { }

parser InParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        pkt.extract(hdr.ethernet);
        pkt.extract(hdr.flow);
        pkt.extract(hdr.hashes);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
           in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
           inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
           inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    Hash<bit<64>>(HashAlgorithm_t.CRC64) wide;
    Hash<bit<64>>(HashAlgorithm_t.CRC32) part;
    CRCPolynomial<bit<16>>(0x1021, false, false, false, 0xffff, 0) coefficients;
    Hash<bit<16>>(HashAlgorithm_t.CUSTOM, coefficients) twice;
    Hash<bit<32>>(HashAlgorithm_t.IDENTITY) selected;
    ActionProfile(16) members;
    ActionSelector(members, selected, SelectorMode_t.FAIR, 8, 4) choice;
    Counter<bit<64>, PortId_t>(512, CounterType_t.PACKETS) received;
    Register<bit<32>, bit<8>>(1) seen;

    RegisterAction<bit<32>, bit<8>, bit<32>>(seen) see = {
        void apply(inout bit<32> value) {
            value = value + 1;
        }
    };

    action send(PortId_t port) {
        ig_tm_md.ucast_egress_port = port;
    }

    action drop() {
        ig_dprsr_md.drop_ctl = 1;
    }

    action hash() {
        hdr.hashes.wide = wide.get({hdr.flow.src, hdr.flow.dst, hdr.flow.port, 8w7});
        hdr.hashes.part = part.get({hdr.flow.src, hdr.flow.dst, hdr.flow.port})[31:0];
    }

    table hashed {
        actions = { hash; }
        const default_action = hash();
    }

    table forward {
        key = {
            ig_intr_md.ingress_port: exact;
            hdr.hashes.part: selector;
        }
        actions = { send; drop; }
        const default_action = drop();
        implementation = choice;
        size = 16;
    }

    apply {
        received.count(ig_intr_md.ingress_port);
        see.execute(0);
        hashed.apply();
        // Two uses of an object have no tables.
        if (hdr.flow.port == 0) {
            hdr.hashes.twice = twice.get({hdr.flow.src});
        } else {
            hdr.hashes.twice = twice.get({hdr.flow.dst});
        }
        forward.apply();
        ig_tm_md.bypass_egress = 1;
    }
}

control InDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md,
                   in ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md) {
    apply {
        pkt.emit(hdr);
    }
}

struct none_t { }

parser OutParser(packet_in pkt, out none_t hdr, out none_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        pkt.extract(eg_intr_md);
        transition accept;
    }
}

control Out(inout none_t hdr, inout none_t md, in egress_intrinsic_metadata_t eg_intr_md,
            in egress_intrinsic_metadata_from_parser_t eg_prsr_md,
            inout egress_intrinsic_metadata_for_deparser_t eg_dprsr_md,
            inout egress_intrinsic_metadata_for_output_port_t eg_oport_md) {
    apply { }
}

control OutDeparser(packet_out pkt, inout none_t hdr, in none_t md,
                    in egress_intrinsic_metadata_for_deparser_t eg_dprsr_md) {
    apply { }
}

Pipeline(InParser(), In(), InDeparser(), OutParser(), Out(), OutDeparser()) pipe;

Switch(pipe) main;

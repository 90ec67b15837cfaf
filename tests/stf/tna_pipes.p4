// TNA: pipes with programs of their own. Packets come in at pipe 0 or 2, which share a program, pass pipe 1 over a wire between
// ports, and leave at pipe 0.

#include <core.p4>
#include <tna.p4>

header work_t {
    bit<8> done;
    bit<8> value;
}

struct headers_t {
    work_t work;
}

struct metadata_t { }

parser Extract(packet_in pkt, out headers_t hdr) {
    state start {
        pkt.extract(hdr.work);
        transition accept;
    }
}

// Pipe 0: sends work to pipe 1, and what is done to port 3.

parser FrontParser(packet_in pkt, out headers_t hdr, out metadata_t md, out ingress_intrinsic_metadata_t ig_intr_md) {
    Extract() extract;

    state start {
        pkt.extract(ig_intr_md);
        pkt.advance(PORT_METADATA_SIZE);
        extract.apply(pkt, hdr);
        transition accept;
    }
}

control Front(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
              in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
              inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
              inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    apply {
        if (hdr.work.done == 0) {
            ig_tm_md.ucast_egress_port = 128 + 8;
        } else {
            ig_tm_md.ucast_egress_port = 3;
            ig_tm_md.bypass_egress = 1;
        }
    }
}

control FrontDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply {
        pkt.emit(hdr);
    }
}

parser FrontEgressParser(packet_in pkt, out headers_t hdr, out metadata_t md) {
    state start {
        transition accept;
    }
}

control FrontEgress(inout headers_t hdr, inout metadata_t md) {
    apply { }
}

control FrontEgressDeparser(packet_out pkt, inout headers_t hdr, in metadata_t md) {
    apply { }
}

// Pipe 1: works in egress and in ingress.

control Back(inout headers_t hdr, inout metadata_t md, in ingress_intrinsic_metadata_t ig_intr_md,
             in ingress_intrinsic_metadata_from_parser_t ig_prsr_md,
             inout ingress_intrinsic_metadata_for_deparser_t ig_dprsr_md,
             inout ingress_intrinsic_metadata_for_tm_t ig_tm_md) {
    action square(bit<8> value) {
        hdr.work.value = value;
    }

    table squares {
        key = { hdr.work.value: exact; }
        actions = { square; }
        const entries = {
            6: square(36);
            7: square(49);
        }
    }

    apply {
        squares.apply();
        hdr.work.done = (bit<8>) ig_intr_md.ingress_port;
        ig_tm_md.ucast_egress_port = 9;
    }
}

parser BackEgressParser(packet_in pkt, out headers_t hdr, out metadata_t md, out egress_intrinsic_metadata_t eg_intr_md) {
    Extract() extract;

    state start {
        pkt.extract(eg_intr_md);
        extract.apply(pkt, hdr);
        transition accept;
    }
}

control BackEgress(inout headers_t hdr, inout metadata_t md) {
    apply {
        hdr.work.value = hdr.work.value + 1;
    }
}

Pipeline(FrontParser(), Front(), FrontDeparser(), FrontEgressParser(), FrontEgress(), FrontEgressDeparser()) front;
Pipeline(FrontParser(), Back(), FrontDeparser(), BackEgressParser(), BackEgress(), FrontDeparser()) back;

Switch(front, back, front) main;

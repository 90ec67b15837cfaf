// What the programs of this folder have in common: a packet is a block of 16 bytes and room for its tag, and leaves by port 2 with the tag of the
// block. On its way it has its state in front, and passes the pipe as often as the program needs: ingress, egress, and by the
// recirculation port to ingress again. A program declares `state_t`, whose member `pass` counts.

const PortId_t OUT = 2;
const bit<7> RECIRCULATION_PORT = 6;

header request_t {
    bit<128> block;
    bit<128> tag;
}

struct headers_t {
    state_t   state;
    request_t request;
}

struct none_t { }

parser IngressParser(packet_in packet, out headers_t hdr, out none_t meta, out ingress_intrinsic_metadata_t ig_intr_md) {
    state start {
        packet.extract(ig_intr_md);
        packet.advance(PORT_METADATA_SIZE);
        transition select(ig_intr_md.ingress_port[6:0]) {
            RECIRCULATION_PORT: again;
            default: request;
        }
    }
    state again {
        packet.extract(hdr.state);
        transition request;
    }
    state request {
        packet.extract(hdr.request);
        transition accept;
    }
}

parser EgressParser(packet_in packet, out headers_t hdr, out none_t meta, out egress_intrinsic_metadata_t eg_intr_md) {
    state start {
        packet.extract(eg_intr_md);
        packet.extract(hdr.state);
        packet.extract(hdr.request);
        transition accept;
    }
}

control Deparser(packet_out packet, inout headers_t hdr, in none_t meta) {
    apply {
        packet.emit(hdr);
    }
}

// The other order of a word's bytes.
bit<32> swap(in bit<32> word) {
    return word[7:0] ++ word[15:8] ++ word[23:16] ++ word[31:24];
}

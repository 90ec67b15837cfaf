// Section E: checksums by an extern object: verified in the parser, computed when a header is sent, and changed by what changes
// in it.
// Section 4.3: an extern object with a constructor and methods for a checksum, data added and taken away. v1model's checksums are
// functions; the program is for PSA, whose `InternetChecksum` has such methods.

#include <core.p4>
#include <psa.p4>

header data_t {
    bit<8>  op;
    bit<8>  ttl;
    bit<16> checksum;
    bit<32> address;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }
struct none_t { }

error { ChecksumError }

parser InParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                in psa_ingress_parser_input_metadata_t istd, in none_t resubmitted, in none_t recirculated) {
    InternetChecksum() ck16;

    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.op) {
            1: accept;
            default: verified;
        }
    }

    state verified {
        ck16.clear();
        ck16.add(hdr.data);
        verify(ck16.get() == 16w0, error.ChecksumError);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) (istd.parser_error == error.ChecksumError ? 32w3 : 2));
    }
}

control InDeparser(packet_out packet, out none_t cloned, out none_t resubmitted, out none_t normal,
                   inout headers_t hdr, in metadata_t meta, in psa_ingress_output_metadata_t istd) {
    InternetChecksum() ck16;

    apply {
        if (hdr.data.op == 1) {
            // Computed from the whole header.
            hdr.data.checksum = 16w0;
            ck16.clear();
            ck16.add(hdr.data);
            hdr.data.checksum = ck16.get();
        } else if (hdr.data.op == 2) {
            // Changed by the word in which the TTL is.
            ck16.clear();
            ck16.subtract(hdr.data.checksum);
            ck16.subtract({ hdr.data.op, hdr.data.ttl });
            hdr.data.ttl = hdr.data.ttl - 1;
            ck16.add({ hdr.data.op, hdr.data.ttl });
            hdr.data.checksum = ck16.get();
        }
        packet.emit(hdr);
    }
}

parser OutParser(packet_in packet, out none_t hdr, inout metadata_t meta, in psa_egress_parser_input_metadata_t istd,
                 in none_t normal, in none_t cloned, in none_t again) {
    state start {
        transition accept;
    }
}

control Out(inout none_t hdr, inout metadata_t meta, in psa_egress_input_metadata_t istd,
            inout psa_egress_output_metadata_t ostd) {
    apply { }
}

control OutDeparser(packet_out packet, out none_t cloned, out none_t again, inout none_t hdr, in metadata_t meta,
                    in psa_egress_output_metadata_t istd, in psa_egress_deparser_input_metadata_t edstd) {
    apply { }
}

IngressPipeline(InParser(), In(), InDeparser()) ingress;
EgressPipeline(OutParser(), Out(), OutDeparser()) egress;
PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;

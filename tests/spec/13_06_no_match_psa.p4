// Section 13.6: without a case that matches the parser ends with the error NoMatch. The program is for PSA, which has this rule;
// v1model follows BMv2.

#include <core.p4>
#include <psa.p4>

header data_t {
    bit<8> x;
    bit<8> error_;
}

struct headers_t {
    data_t data;
}

struct metadata_t { }
struct none_t { }

parser InParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                in psa_ingress_parser_input_metadata_t istd, in none_t resubmitted, in none_t recirculated) {
    state start {
        packet.extract(hdr.data);
        transition select(hdr.data.x) {
            1: accept;
            2 .. 3: short;
            4: reject;
        }
    }

    state short {
        packet.advance(800);
        transition accept;
    }
}

control In(inout headers_t hdr, inout metadata_t meta, in psa_ingress_input_metadata_t istd,
           inout psa_ingress_output_metadata_t ostd) {
    apply {
        send_to_port(ostd, (PortId_t) 32w2);
        switch (istd.parser_error) {
            error.NoError: { hdr.data.error_ = 1; }
            error.NoMatch: { hdr.data.error_ = 2; }
            error.PacketTooShort: { hdr.data.error_ = 3; }
            default: { hdr.data.error_ = 4; }
        }
    }
}

#include "frame/psa.p4"

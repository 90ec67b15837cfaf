// A stack indexed by values from the packet in a control: reads beyond it give zero, writes beyond it do nothing,
// for every element.

#include <core.p4>
#include <v1model.p4>

header s_t {
    bit<8> x;
    bit<8> y;
}

header data_t {
    bit<8> read;
    bit<8> write;
    bit<8> value;
    bit<8> result;
    bit<8> valid;
}

struct headers_t {
    data_t data;
    s_t[3] s;
}

struct meta_t {}

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.data);
        packet.extract(hdr.s.next);
        packet.extract(hdr.s.next);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        std.egress_spec = 2;
        hdr.data.result = hdr.s[hdr.data.read].x;
        hdr.data.valid = hdr.s[hdr.data.read].isValid() ? 8w1 : 0;
        hdr.s[hdr.data.write].y = hdr.data.value;
        if (hdr.data.value == 0xee) {
            hdr.s[hdr.data.write].setInvalid();
        } else if (hdr.data.value == 0xdd) {
            hdr.s[hdr.data.write] = hdr.s[hdr.data.read];
        } else if (hdr.data.value == 0xcc) {
            hdr.s[hdr.data.write].setValid();
            hdr.s[hdr.data.write].x = 0x99;
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "frame/pipeline.p4"

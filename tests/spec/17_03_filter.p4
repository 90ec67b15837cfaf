// Section 17.3: a filter: its parser and a control decide whether a packet passes. On v1model, which drops what the control does
// not accept.

#include <core.p4>
#include <v1model.p4>

parser Reads<H>(packet_in packet, out H headers);
control Filter<H>(inout H headers, out bool accept);
package Program<H>(Reads<H> p, Filter<H> f);

header ethernet_t {
    bit<16> kind;
}

header ipv4_t {
    bit<8> protocol;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
}

struct meta_t { }

parser ParsesIp(packet_in packet, out headers_t hdr) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.kind) {
            0x0800: ipv4;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }
}

control OnlyUdp(inout headers_t hdr, out bool accept) {
    apply {
        accept = hdr.ipv4.isValid() && hdr.ipv4.protocol == 17;
    }
}

Program(ParsesIp(), OnlyUdp()) filter;

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    ParsesIp() ip;

    state start {
        ip.apply(packet, hdr);
        transition accept;
    }
}

control TestIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    OnlyUdp() filter_;

    apply {
        bool accepted;
        filter_.apply(hdr, accepted);
        std.egress_spec = 1;
        if (!accepted) {
            mark_to_drop(std);
        }
    }
}

control TestDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}

#include "../stf/frame/pipeline.p4"

// Section 13.8: methods of `packet_in`: extract, lookahead, length, advance; the first bit is the most significant one.
// Section 13.8.1: one argument: a header of fixed size becomes valid, the position moves, a short packet changes nothing.

#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<4>  high;
    bit<12> low;
    int<8>  signed_;
}

header report_t {
    bit<32> length;
    bit<8>  valid;
}

header short_t {
    bit<32> x;
}

struct headers_t {
    report_t   report;
    ethernet_t ethernet;
    short_t    more;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        hdr.report = { packet.length(), 0 };
        packet.extract(hdr.ethernet);
        if (hdr.ethernet.high == 0xa && hdr.ethernet.low == 0xbcd && hdr.ethernet.signed_ == -2) {
            hdr.report.valid = hdr.ethernet.isValid() ? 8w1 : 2;
        }
        packet.extract(hdr.more);
        transition accept;
    }
}

#include "frame/parsed.p4"

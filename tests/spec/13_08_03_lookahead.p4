// Section 13.8.3: `lookahead` of a number, a struct, and of headers, which are valid; the position stays; it is an error if the
// packet is short.

#include <core.p4>
#include <v1model.p4>

header kind_t {
    bit<8> kind;
}

header wide_t {
    bit<8>  kind;
    bit<16> value;
}

struct top_t {
    bit<8> kind;
    bit<8> length;
}

struct both_t {
    kind_t first;
    wide_t second;
}

header report_t {
    bit<8>  seen;
    bit<16> value;
    bit<8>  valid;
}

struct headers_t {
    report_t report;
    wide_t   wide;
}

struct meta_t { }

parser TestParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        hdr.report = { ... };
        transition select(packet.lookahead<bit<8>>()) {
            1: struct_;
            2: header_;
            3: headers;
            default: accept;
        }
    }

    state struct_ {
        hdr.report.seen = packet.lookahead<top_t>().length;
        packet.extract(hdr.wide);
        transition accept;
    }

    state header_ {
        wide_t ahead = packet.lookahead<wide_t>();
        hdr.report.value = ahead.value;
        hdr.report.valid = ahead.isValid() ? 8w1 : 0;
        packet.extract(hdr.wide);
        transition accept;
    }

    state headers {
        both_t both = packet.lookahead<both_t>();
        hdr.report.value = both.second.value;
        hdr.report.valid = both.first.isValid() && both.second.isValid() ? 8w2 : 0;
        packet.extract(hdr.wide);
        transition accept;
    }
}

#include "frame/parsed.p4"
